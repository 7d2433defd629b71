//! Descriptors as bytes.

use std::sync::Arc;

use crate::session::error::PackError;
use crate::session::pack::reader::PackReader;
use crate::session::pack::writer::PackWriter;
use crate::vfs::parked::{ParkedDescriptor, ParkedOpen, ParkedPlace, ParkedPosition};
use crate::vfs::tree::device::Device;
use crate::vfs::{Access, MAX_NAME, MAX_PATH};
use wardian_formats::job::outcome::Stream;

const INPUT: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const NULL: u8 = 3;
const ZERO: u8 = 4;
const RANDOM: u8 = 5;
const FULL: u8 = 6;
const FOLDER: u8 = 7;
const FILE: u8 = 8;

/// Bits of the flags of a file.
const READS: u8 = 1;
const WRITES: u8 = 2;
const APPENDS: u8 = 4;

/// Fewest bytes of a descriptor: its number, a flag and its kind.
const SHORTEST: usize = 3;

/// Longest path below a mount.
const LONGEST: usize = 256 * (MAX_NAME + 1);

/// Writes descriptors in the order of their numbers.
pub(crate) fn write_descriptors(descriptors: &[ParkedDescriptor], output: &mut PackWriter) {
    output.count(descriptors.len());
    for ParkedDescriptor { fd, nonblocking, what } in descriptors {
        output.number((*fd).into());
        output.flag(*nonblocking);
        output.byte(kind_of(what));
        match what {
            ParkedOpen::Input | ParkedOpen::Output(_) | ParkedOpen::Device(_) => {}
            ParkedOpen::Folder { place, preopened, listed } => {
                write_place(place, output);
                output.flag(preopened.is_some());
                preopened.iter().for_each(|path| output.text(path));
                output.flag(listed.is_some());
                if let Some((cookie, name)) = listed {
                    output.number(*cookie);
                    output.text(name);
                }
            }
            ParkedOpen::File { place, reads, position, access, appends } => {
                write_place(place, output);
                output.flag(reads.is_some());
                reads.iter().for_each(|inode| output.number(*inode));
                match position {
                    ParkedPosition::At(offset) => {
                        output.flag(false);
                        output.number(*offset);
                    }
                    ParkedPosition::SharedWith(fd) => {
                        output.flag(true);
                        output.number((*fd).into());
                    }
                }
                let flag = |is_set, bit| if is_set { bit } else { 0 };
                output.byte(
                    flag(access.read, READS) | flag(access.write, WRITES) | flag(*appends, APPENDS),
                );
            }
        }
    }
}

const fn kind_of(what: &ParkedOpen) -> u8 {
    match what {
        ParkedOpen::Input | ParkedOpen::Device(Device::Input) => INPUT,
        ParkedOpen::Output(stream) | ParkedOpen::Device(Device::Output(stream)) => match stream {
            Stream::Stderr => STDERR,
            // No descriptor leads to the others.
            Stream::Stdout | Stream::Log | Stream::Progress | Stream::Request => STDOUT,
        },
        ParkedOpen::Device(Device::Null) => NULL,
        ParkedOpen::Device(Device::Zero) => ZERO,
        ParkedOpen::Device(Device::Random) => RANDOM,
        ParkedOpen::Device(Device::Full) => FULL,
        ParkedOpen::Folder { .. } => FOLDER,
        ParkedOpen::File { .. } => FILE,
    }
}

fn write_place(place: &ParkedPlace, output: &mut PackWriter) {
    match place {
        ParkedPlace::Own(inode) => {
            output.flag(false);
            output.number(*inode);
        }
        ParkedPlace::Mounted { tree, path } => {
            output.flag(true);
            output.number((*tree).into());
            output.text(path);
        }
    }
}

/// Reads descriptors. They may be such as no guest can have.
///
/// # Errors
///
/// They are malformed.
pub(crate) fn read_descriptors(
    input: &mut PackReader<'_>,
) -> Result<Vec<ParkedDescriptor>, PackError> {
    let count = input.count(SHORTEST)?;
    let mut descriptors = Vec::with_capacity(count);
    for _ in 0..count {
        let (fd, nonblocking) = (input.small()?, input.flag()?);
        let what = match input.byte()? {
            INPUT => ParkedOpen::Input,
            STDOUT => ParkedOpen::Output(Stream::Stdout),
            STDERR => ParkedOpen::Output(Stream::Stderr),
            NULL => ParkedOpen::Device(Device::Null),
            ZERO => ParkedOpen::Device(Device::Zero),
            RANDOM => ParkedOpen::Device(Device::Random),
            FULL => ParkedOpen::Device(Device::Full),
            FOLDER => read_folder(input)?,
            FILE => read_file(input)?,
            _ => return Err(input.fault()),
        };
        descriptors.push(ParkedDescriptor { fd, nonblocking, what });
    }
    Ok(descriptors)
}

fn read_folder(input: &mut PackReader<'_>) -> Result<ParkedOpen, PackError> {
    let place = read_place(input)?;
    let preopened = if input.flag()? { Some(Arc::from(input.text(MAX_PATH)?)) } else { None };
    let listed = match input.flag()? {
        true => Some((input.number()?, Arc::from(input.text(MAX_NAME)?))),
        false => None,
    };
    Ok(ParkedOpen::Folder { place, preopened, listed })
}

fn read_file(input: &mut PackReader<'_>) -> Result<ParkedOpen, PackError> {
    let place = read_place(input)?;
    let reads = if input.flag()? { Some(input.number()?) } else { None };
    let position = match input.flag()? {
        true => ParkedPosition::SharedWith(input.small()?),
        false => ParkedPosition::At(input.number()?),
    };
    let flags = input.byte()?;
    if flags > READS | WRITES | APPENDS {
        return Err(input.fault());
    }
    let access = Access { read: flags & READS != 0, write: flags & WRITES != 0 };
    let appends = flags & APPENDS != 0;
    Ok(ParkedOpen::File { place, reads, position, access, appends })
}

fn read_place(input: &mut PackReader<'_>) -> Result<ParkedPlace, PackError> {
    Ok(match input.flag()? {
        true => {
            let tree = input.small()?;
            ParkedPlace::Mounted { tree, path: input.text(LONGEST)?.into() }
        }
        false => ParkedPlace::Own(input.number()?),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Descriptors of any kind, also such as no guest can have.
    fn descriptors() -> impl Strategy<Value = Vec<ParkedDescriptor>> {
        let place = || {
            prop_oneof![
                (0..9_u64).prop_map(ParkedPlace::Own),
                (0..4_u32, "[a-z/]{0,9}")
                    .prop_map(|(tree, path)| ParkedPlace::Mounted { tree, path: path.into() }),
            ]
        };
        let name = || "[a-z/]{0,9}".prop_map(Arc::<str>::from);
        let folder = (place(), prop::option::of(name()), prop::option::of((any::<u64>(), name())))
            .prop_map(|(place, preopened, listed)| ParkedOpen::Folder { place, preopened, listed });
        let position = prop_oneof![
            any::<u64>().prop_map(ParkedPosition::At),
            (0..9_u32).prop_map(ParkedPosition::SharedWith),
        ];
        let file = (place(), prop::option::of(0..9_u64), position, any::<[bool; 3]>()).prop_map(
            |(place, reads, position, [read, write, appends])| {
                let access = Access { read, write };
                ParkedOpen::File { place, reads, position, access, appends }
            },
        );
        let simple = prop::sample::select(vec![
            ParkedOpen::Input,
            ParkedOpen::Output(Stream::Stdout),
            ParkedOpen::Output(Stream::Stderr),
            ParkedOpen::Device(Device::Null),
            ParkedOpen::Device(Device::Zero),
            ParkedOpen::Device(Device::Random),
            ParkedOpen::Device(Device::Full),
        ]);
        let one = (any::<u32>(), any::<bool>(), prop_oneof![simple, folder, file]);
        let one =
            one.prop_map(|(fd, nonblocking, what)| ParkedDescriptor { fd, nonblocking, what });
        prop::collection::vec(one, 0..6)
    }

    proptest! {
        #[test]
        fn descriptors_are_read_as_they_were_written(descriptors in descriptors()) {
            let mut output = PackWriter::default();
            write_descriptors(&descriptors, &mut output);
            let mut input = PackReader::new(output.as_slice(), "x");
            prop_assert_eq!(read_descriptors(&mut input).unwrap(), descriptors);
            prop_assert_eq!(input.end(), Ok(()));
            let length = output.as_slice().len();
            let mut cut = PackReader::new(&output.as_slice()[..length - 1], "x");
            prop_assert!(read_descriptors(&mut cut).is_err());
        }

        #[test]
        fn bounded_packs_have_descriptors_of_their_size(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut input = PackReader::new(&bytes, "x");
            if let Ok(descriptors) = read_descriptors(&mut input) {
                let mut output = PackWriter::default();
                write_descriptors(&descriptors, &mut output);
                prop_assert_eq!(output.as_slice(), &bytes[..bytes.len() - input.left()]);
            }
        }
    }
}
