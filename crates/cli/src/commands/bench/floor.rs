//! F: the program that does nothing. No process can be started and ended in less time, so it is the measure of all.
//!
//! It is written by hand, byte by byte: one ELF header, one program header, and the system call `exit(0)`. Nothing is
//! linked, relocated or allocated.

/// Where the program is loaded.
const BASE: u64 = 0x40_0000;
const HEADERS: u64 = 64 + 56;
/// A multiple of every page size.
const ALIGN: u64 = 0x1_0000;

/// What differs between processors: the number of the machine, and `exit(0)`.
#[cfg(target_arch = "x86_64")]
const MACHINE: Option<(u16, &[u8])> = Some((
    62,
    &[
        0x31, 0xff, // xor edi, edi
        0xb8, 0x3c, 0x00, 0x00, 0x00, // mov eax, 60
        0x0f, 0x05, // syscall
    ],
));
#[cfg(target_arch = "aarch64")]
const MACHINE: Option<(u16, &[u8])> = Some((
    183,
    &[
        0x00, 0x00, 0x80, 0xd2, // mov x0, #0
        0xa8, 0x0b, 0x80, 0xd2, // mov x8, #93
        0x01, 0x00, 0x00, 0xd4, // svc #0
    ],
));
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const MACHINE: Option<(u16, &[u8])> = None;

/// Returns the empty program; `None` for a system that it is not known for.
pub fn program() -> Option<Vec<u8>> {
    let (machine, code) = MACHINE.filter(|_| cfg!(target_os = "linux"))?;
    let size = HEADERS + code.len() as u64;
    let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let half = |elf: &mut Vec<u8>, values: &[u16]| values.iter().for_each(|v| elf.extend(v.to_le_bytes()));
    let word = |elf: &mut Vec<u8>, values: &[u32]| values.iter().for_each(|v| elf.extend(v.to_le_bytes()));
    let long = |elf: &mut Vec<u8>, values: &[u64]| values.iter().for_each(|v| elf.extend(v.to_le_bytes()));
    half(&mut elf, &[2, machine]); // an executable
    word(&mut elf, &[1]); // version
    long(&mut elf, &[BASE + HEADERS, 64, 0]); // entry, program headers, no sections
    word(&mut elf, &[0]); // flags
    half(&mut elf, &[64, 56, 1, 64, 0, 0]); // sizes and counts of the headers
    word(&mut elf, &[1, 5]); // load, to be read and run
    long(&mut elf, &[0, BASE, BASE, size, size, ALIGN]); // the whole file
    elf.extend(code);
    Some(elf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn headers_have_their_sizes_and_the_entry_is_behind_them() {
        let elf = program().expect("known for this machine");
        let entry = u64::from_le_bytes(elf[24..32].try_into().unwrap());
        assert_eq!(entry, BASE + HEADERS);
        assert_eq!(elf[64..68], [1, 0, 0, 0], "the program header follows at once");
        let size = u64::from_le_bytes(elf[96..104].try_into().unwrap());
        assert_eq!(size, elf.len() as u64);
    }
}
