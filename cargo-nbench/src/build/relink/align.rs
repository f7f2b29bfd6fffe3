//! Copies of object files and archives in which every function starts at a boundary of 64 bytes, so
//! that the size of one function does not move the loops of all that follow it against cache lines.
//! It changes alignment in section headers and nothing else, and it links nothing.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use object::LittleEndian;
use object::elf::{FileHeader64, SHF_EXECINSTR, SectionHeader64};
use object::read::archive::ArchiveFile;
use object::read::elf::{FileHeader, SectionHeader};

use crate::cache;

/// Bytes to which functions are aligned: a cache line of x86-64 processors and of most others.
pub(super) const ALIGNMENT: u64 = 64;

/// Where a section header keeps its alignment: behind two 4-byte fields, four 8-byte fields and two
/// more 4-byte fields (System V gABI, `Elf64_Shdr`).
const FIELD: usize = 48;

/// Raises the alignment of all functions in an object file, or in the members of an archive, in
/// place; returns how many were changed. Whatever is not a 64-bit little-endian ELF file stays as
/// it is.
pub(super) fn align(bytes: &mut [u8]) -> usize {
    let members: Vec<Range<usize>> = match ArchiveFile::parse(&*bytes) {
        Ok(archive) => archive
            .members()
            .filter_map(|member| {
                let (start, length) = member.ok()?.file_range();
                let start = usize::try_from(start).ok()?;
                Some(start..start.checked_add(usize::try_from(length).ok()?)?)
            })
            .collect(),
        Err(_) => std::iter::once(0..bytes.len()).collect(),
    };
    let mut changed = 0;
    for range in members {
        let Some(member) = bytes.get_mut(range) else { continue };
        for field in fields(member).unwrap_or_default() {
            if let Some(field) = member.get_mut(field..field + 8) {
                field.copy_from_slice(&ALIGNMENT.to_le_bytes());
                changed += 1;
            }
        }
    }
    changed
}

/// Offsets of the alignments that are to be raised; `None` when `bytes` is another kind of file.
fn fields(bytes: &[u8]) -> Option<Vec<usize>> {
    let header = FileHeader64::<LittleEndian>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, bytes).ok()?;
    let table = usize::try_from(header.e_shoff(endian)).ok()?;
    let size = usize::from(header.e_shentsize(endian));
    let is_function = |section: &SectionHeader64<LittleEndian>| {
        section.sh_flags(endian) & SHF_EXECINSTR != object::elf::SectionFlags(0)
            && section.sh_addralign(endian) < ALIGNMENT
            && sections.section_name(endian, section).is_ok_and(|name| name.starts_with(b".text"))
    };
    let wanted = sections.iter().enumerate().filter(|(_, section)| is_function(section));
    Some(wanted.map(|(index, _)| table + index * size + FIELD).collect())
}

/// The copy of `source` in `directory` with aligned functions, made unless it is there; `None` when
/// `source` has nothing to align.
///
/// # Errors
/// When the file cannot be read or its copy not be written, as a fragment.
pub(super) fn copy(source: &Path, directory: &Path) -> Result<Option<PathBuf>, String> {
    let failed = |error: std::io::Error| {
        format!("functions of `{}` cannot be aligned: {error}", source.display())
    };
    let about = fs::metadata(source).map_err(failed)?;
    let place = cache::digest(source.as_os_str().as_encoded_bytes());
    let version = version(about.len(), about.modified().ok());
    let name = source.file_name().unwrap_or_default();
    let target = directory.join(named(&format!("{place}-{version}-"), name));
    if target.is_file() {
        return Ok(Some(target));
    }
    let mut bytes = fs::read(source).map_err(failed)?;
    if align(&mut bytes) == 0 {
        return Ok(None);
    }
    fs::create_dir_all(directory).map_err(failed)?;
    // What was made of an earlier build of the same file is not needed again.
    for entry in fs::read_dir(directory).map_err(failed)?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(&format!("{place}-")) {
            let _ = fs::remove_file(entry.path());
        }
    }
    cache::write_whole(&target, &bytes).map_err(failed)?;
    Ok(Some(target))
}

/// Whether an argument of a linker names a file with functions in it.
pub(super) fn has_functions(argument: &OsStr) -> bool {
    let extension = Path::new(argument).extension();
    !argument.to_string_lossy().starts_with('-')
        && extension.is_some_and(|extension| extension == "o" || extension == "rlib")
}

fn named(prefix: &str, name: &OsStr) -> OsString {
    let mut whole = OsString::from(prefix);
    whole.push(name);
    whole
}

/// Name of one state of a file in names of copies. It is made of numbers alone, so that it is the
/// same for every compiler that this program is built with.
pub(super) fn version(length: u64, modified: Option<SystemTime>) -> String {
    let since = modified.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    let nanoseconds = since.map_or(0, |since| since.as_nanos());
    cache::digest(format!("{length} {nanoseconds}").as_bytes())
}
