//! What a measurement gives.

use std::time::Duration;

/// What was measured, or why it could not be.
pub type Measured<T> = Result<T, String>;

pub fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
