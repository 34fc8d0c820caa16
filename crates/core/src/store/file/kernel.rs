//! What to ask the kernel for that no crate wraps: whether a file is open elsewhere, the id of a btrfs, a lock within a time, and, without
//! the detour that rustix takes in a static program, how long the machine has been up.

#![allow(unsafe_code, reason = "system calls that no crate wraps")]

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::Once;
use std::time::{Duration, Instant};

/// Returns whether nobody else has the file open or mapped.
///
/// The kernel grants a write lease only then. It is given back at once; whoever opens the file in between waits
/// for that, and the signal that tells us so is one that does nothing by default.
pub fn is_alone(file: &File) -> io::Result<bool> {
    let fd = file.as_raw_fd();
    // SAFETY: fcntl with these commands takes plain integers and touches no memory of ours; `file` keeps the
    // descriptor open for the duration of the calls.
    let call =
        |command: libc::c_int, argument: libc::c_int| match unsafe { libc::fcntl(fd, command, argument) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        };
    call(F_SETSIG, libc::SIGURG)?;
    match call(libc::F_SETLEASE, libc::F_WRLCK) {
        Ok(()) => call(libc::F_SETLEASE, libc::F_UNLCK).map(|()| true),
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Ok(false),
        // Not our file, or a file system without leases.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EACCES | libc::EINVAL | libc::ENOSYS)) => {
            Err(io::ErrorKind::Unsupported.into())
        }
        Err(error) => Err(error),
    }
}

/// Returns how long the machine has been up, sleep included.
///
/// rustix finds this clock with the help of the loader. A static program has none, and it costs six system calls.
pub fn uptime() -> Option<Duration> {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the call fills what it is given, or says that it did not.
    let time = unsafe {
        match libc::clock_gettime(libc::CLOCK_BOOTTIME, time.as_mut_ptr()) {
            0 => time.assume_init(),
            _ => return None,
        }
    };
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

/// Returns the id of the btrfs that holds the file, as `/sys/fs/btrfs` spells it; `None` on anything else.
pub fn btrfs_id(file: &File) -> Option<String> {
    let mut about = [0_u8; 1024];
    // SAFETY: the request says that it writes at most 1024 bytes, and `file` keeps the descriptor open.
    let outcome = unsafe { libc::ioctl(file.as_raw_fd(), BTRFS_FS_INFO as _, about.as_mut_ptr()) };
    if outcome != 0 {
        return None;
    }
    let hex: String = about[16..32].iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    Some(parts.join("-"))
}

/// `BTRFS_IOC_FS_INFO`: two numbers, then the id.
const BTRFS_FS_INFO: u32 = 0x8400_941f;

/// Which signal tells of a broken lease; not every libc names it.
const F_SETSIG: libc::c_int = 10;

/// Takes the lock of a file, waiting in the kernel's own queue, which is fair. Returns false when `patience` passed.
///
/// Nothing but a signal ends that wait, so a timer sends one to this thread: one that nobody else uses, with a
/// handler that does nothing.
pub fn lock_within(file: &File, exclusive: bool, patience: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + patience;
    let _timer = Timer::start(patience)?;
    let operation = if exclusive { libc::LOCK_EX } else { libc::LOCK_SH };
    loop {
        // SAFETY: flock takes plain integers; `file` keeps the descriptor open.
        if unsafe { libc::flock(file.as_raw_fd(), operation) } == 0 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::Interrupted if Instant::now() < deadline => {}
            io::ErrorKind::Interrupted => return Ok(false),
            _ => return Err(error),
        }
    }
}

/// A timer that signals the thread that started it, again and again: the first signal may come before the wait.
struct Timer(libc::timer_t);

impl Timer {
    fn start(after: Duration) -> io::Result<Timer> {
        install_handler();
        // SAFETY: all pointers are to live locals of the right types; a zeroed sigevent is a valid one.
        unsafe {
            let mut event: libc::sigevent = MaybeUninit::zeroed().assume_init();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = signal();
            event.sigev_notify_thread_id = libc::gettid();
            let mut timer = MaybeUninit::uninit();
            if libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, timer.as_mut_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            let timer = Timer(timer.assume_init());
            let setting = libc::itimerspec { it_value: timespec(after), it_interval: timespec(AGAIN) };
            match libc::timer_settime(timer.0, 0, &raw const setting, ptr::null_mut()) {
                0 => Ok(timer),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the timer was made by `timer_create` and is deleted once.
        unsafe { libc::timer_delete(self.0) };
    }
}

const AGAIN: Duration = Duration::from_millis(20);

fn timespec(duration: Duration) -> libc::timespec {
    // A time of zero would never come.
    let nanoseconds = if duration.is_zero() { 1 } else { duration.subsec_nanos() };
    let seconds = duration.as_secs().try_into().unwrap_or(i32::MAX.into());
    libc::timespec { tv_sec: seconds, tv_nsec: libc::c_long::from(nanoseconds as i32) }
}

fn signal() -> libc::c_int {
    libc::SIGRTMIN() + 6
}

fn install_handler() {
    extern "C" fn nothing(_: libc::c_int) {}
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: the handler does nothing, so it may run at any time; a zeroed sigaction is a valid one. Without
        // SA_RESTART a signal ends a system call that waits.
        unsafe {
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            action.sa_sigaction = nothing as *const () as usize;
            libc::sigaction(signal(), &raw const action, ptr::null_mut());
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_handle_is_noticed() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("file");
        let open = || {
            File::options().read(true).write(true).create(true).truncate(false).open(&path).expect("a file")
        };
        let file = open();
        assert!(is_alone(&file).expect("leases"));
        let reader = File::open(&path).expect("it is there");
        assert!(!is_alone(&file).expect("leases"));
        drop(reader);
        assert!(is_alone(&file).expect("leases"));
    }

    #[test]
    fn a_lock_is_waited_for() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("lock");
        let open = || File::options().write(true).create(true).truncate(false).open(&path).expect("a file");
        let held = open();
        held.lock().expect("it is free");
        let started = Instant::now();
        assert!(!lock_within(&open(), true, Duration::from_millis(30)).expect("no failure"));
        assert!(started.elapsed() >= Duration::from_millis(30));
        let waiting = std::thread::spawn({
            let file = open();
            move || lock_within(&file, true, Duration::from_secs(60)).expect("no failure")
        });
        drop(held);
        assert!(waiting.join().expect("it ends"));
    }
}
