//! The transfers of the service's own blobs.

use crate::start::Discovery;
use crate::transfers::{BlobTransfers, Transfers};

impl Transfers for Discovery {
    fn transfers(&self) -> &BlobTransfers {
        &self.transfers
    }
}
