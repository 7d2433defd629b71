//! The transfers of the service's own blobs.

use crate::service::start::Discovery;
use crate::service::transfers::{BlobTransfers, Transfers};

impl Transfers for Discovery {
    fn transfers(&self) -> &BlobTransfers {
        &self.transfers
    }
}
