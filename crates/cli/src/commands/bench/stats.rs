//! Figures out of samples: medians, percentiles, growth.

/// Returns the sample that this share of all samples does not exceed; `None` without samples.
pub fn percentile(samples: &[f64], share: f64) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    sorted.get((last as f64 * share).round() as usize).copied()
}

pub fn median(samples: &[f64]) -> Option<f64> {
    percentile(samples, 0.5)
}

/// Returns the exponent `e` of the power law `y = c x^e` that fits best: the slope of the points on paper with
/// two logarithmic scales. 0 is flat, 1 is in proportion. `None` for fewer than two different `x`.
pub fn growth(points: &[(f64, f64)]) -> Option<f64> {
    let logs: Vec<_> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = logs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = logs.iter().map(|point| (point.0 - x).powi(2)).sum();
    let common: f64 = logs.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    (spread > 0.0).then(|| common / spread)
}

/// Writes a figure with about three digits that matter.
pub fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples() {
        let samples: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        assert_eq!(median(&samples), Some(50.0));
        assert_eq!(percentile(&samples, 0.99), Some(99.0));
        assert_eq!(percentile(&[7.0], 0.99), Some(7.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn growth_is_the_exponent() {
        let close = |points: &[(f64, f64)], exponent: f64| {
            let found = growth(points).expect("there are two points");
            assert!((found - exponent).abs() < 1e-9, "{found}");
        };
        close(&[(1e3, 2.0), (1e4, 2.0), (1e5, 2.0)], 0.0);
        close(&[(1e3, 1.0), (1e4, 10.0), (1e5, 100.0)], 1.0);
        close(&[(4.0, 8.0), (16.0, 16.0)], 0.5);
        assert_eq!(growth(&[(1e3, 1.0)]), None);
        assert_eq!(growth(&[(1e3, 1.0), (1e3, 2.0)]), None);
    }

    #[test]
    fn figures_are_short() {
        let shown: Vec<_> = [1234.5, 12.345, 1.2345, 0.12345].map(short).into();
        assert_eq!(shown, ["1234", "12.3", "1.23", "0.123"]);
    }
}
