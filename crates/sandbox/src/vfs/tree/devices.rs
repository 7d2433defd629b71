//! The folder `/dev`: virtual nodes, none of which leads to a device of the host.

use std::sync::{Arc, LazyLock};

use crate::vfs::tree::device::Device;
use crate::vfs::tree::immutable::ImmutableTree;
use wardian_formats::job::outcome::Stream;

/// The folder `/dev`, made once for all runs: mounting it costs a run one reference.
pub(crate) static DEVICES: LazyLock<Arc<ImmutableTree>> = LazyLock::new(|| {
    Arc::new(ImmutableTree::of_devices(&[
        ("full", Device::Full),
        ("null", Device::Null),
        ("random", Device::Random),
        ("stderr", Device::Output(Stream::Stderr)),
        ("stdin", Device::Input),
        ("stdout", Device::Output(Stream::Stdout)),
        ("urandom", Device::Random),
        ("zero", Device::Zero),
    ]))
});
