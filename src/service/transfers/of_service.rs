//! The transfers of the service's own blobs.

use crate::service::parts::Service;
use crate::service::transfers::{BlobTransfers, Transfers};

impl Transfers for Service {
    fn transfers(&self) -> &BlobTransfers {
        &self.transfers
    }
}
