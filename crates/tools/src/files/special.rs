//! Files that are no files: opening one waits, or does something, or reads what the system says.

use cap_std::fs::OpenOptions;

/// The reason why a folder of the system is not read.
pub(super) const OF_THE_SYSTEM: &str = "it belongs to the system";

/// True for what is no file system on a disk: `/proc`, `/sys` and their like, whose files say secrets or do something.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn is_of_the_system(opened: &impl std::os::fd::AsFd) -> bool {
    /// `proc`, `sysfs`, `debugfs`, `tracefs`, `securityfs`, `cgroup`, `cgroup2`, `bpf`, `pstore`, `configfs`, `devpts`,
    /// `efivarfs`, `mqueue`: statfs(2) and `linux/magic.h`.
    const MAGIC: [u64; 13] = [
        0x9fa0,
        0x6265_6572,
        0x6462_6720,
        0x7472_6163,
        0x7363_6673,
        0x0027_e0eb,
        0x6367_7270,
        0xcafe_4a11,
        0x6165_676c,
        0x6265_6570,
        0x1cd1,
        0xde5e_81e4,
        0x1980_0202,
    ];
    // The type of the field differs between targets, and its upper half is the sign of a smaller one.
    rustix::fs::fstatfs(opened)
        .is_ok_and(|found| MAGIC.contains(&(u64::try_from(found.f_type).unwrap_or_default() & 0xffff_ffff)))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn is_of_the_system<T>(_: &T) -> bool {
    false
}

/// A pipe that took a file's place is opened without waiting for its other end.
#[cfg(unix)]
pub(super) fn without_waiting(options: &mut OpenOptions) {
    use cap_std::fs::OpenOptionsExt as _;
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    options.custom_flags(flags.bits().cast_signed());
}

#[cfg(not(unix))]
pub(super) fn without_waiting(_: &mut OpenOptions) {}
