//! Requests about the guest's own files that preview 1 of WASI has no function for.
//!
//! These requests are host calls that the worker answers by itself. They use only the files of the
//! run and cost no more than a call of WASI, so they do not count as host calls.

use crate::host_call::replies::done;
use crate::vfs::{Errno, Fd, FileSystem};

/// A parsed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileRequest {
    /// A second number for an open file.
    Duplicate { fd: Fd, lowest: Fd },
    /// A second number for an open file, chosen by the guest.
    DuplicateTo { from: Fd, to: Fd },
    /// The path of an open folder.
    FolderPath { fd: Fd },
    /// Report the space that is left in the workspace.
    Usage,
}

impl FileRequest {
    /// Parses a payload: an operation byte and two numbers.
    pub(crate) fn parse(payload: &[u8]) -> Option<Self> {
        let (operation, numbers) = payload.split_first()?;
        let (first, rest) = numbers.split_first_chunk::<4>()?;
        let (second, rest) = rest.split_first_chunk::<4>()?;
        let (first, second) = (u32::from_le_bytes(*first), u32::from_le_bytes(*second));
        match operation {
            _ if !rest.is_empty() => None,
            1 => Some(Self::Duplicate { fd: first, lowest: second }),
            2 => Some(Self::DuplicateTo { from: first, to: second }),
            3 => Some(Self::FolderPath { fd: first }),
            4 => Some(Self::Usage),
            _ => None,
        }
    }

    /// Carries out the request. The answer is an error number of preview 1, zero for success, and
    /// the result.
    pub(crate) fn answer(self, files: &mut FileSystem) -> Vec<u8> {
        let number = |fd: Fd| fd.to_le_bytes().to_vec();
        let result = match self {
            Self::Duplicate { fd, lowest } => files.duplicate(fd, lowest).map(number),
            Self::DuplicateTo { from, to } => files.duplicate_to(from, to).map(number),
            Self::FolderPath { fd } => files.folder_path(fd).map(String::into_bytes),
            Self::Usage => {
                let usage = files.usage();
                let numbers = [
                    usage.bytes,
                    usage.used_bytes,
                    usage.entries,
                    usage.used_entries,
                    usage.next_inode,
                ];
                Ok(numbers.iter().flat_map(|number| number.to_le_bytes()).collect())
            }
        };
        match result {
            Ok(result) => done(&[&[0, 0], result.as_slice()].concat()),
            Err(errno) => done(&Errno::number(errno).to_le_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_another_length_or_operation_are_refused() {
        let well_formed = [1, 5, 0, 0, 0, 7, 0, 0, 0];
        assert_eq!(
            FileRequest::parse(&well_formed),
            Some(FileRequest::Duplicate { fd: 5, lowest: 7 })
        );
        for length in 0..well_formed.len() {
            assert_eq!(FileRequest::parse(&well_formed[..length]), None, "{length}");
        }
        assert_eq!(FileRequest::parse(&[1, 5, 0, 0, 0, 7, 0, 0, 0, 0]), None);
        assert_eq!(FileRequest::parse(&[0, 5, 0, 0, 0, 7, 0, 0, 0]), None);
        assert_eq!(FileRequest::parse(&[5, 5, 0, 0, 0, 7, 0, 0, 0]), None);
    }
}
