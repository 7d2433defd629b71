//! The eight methods, one file each.
//!
//! Every method has the same steps, in this order: check the parameters beyond their types, find
//! the skills and blobs, act, answer. No method knows HTTP or the command line.

mod create_blob;
mod describe_skill;
mod execute_script;
mod execute_skill;
mod guide;
mod list_skills;
mod read_blob;
mod read_skill_file;
mod run_code;

use std::future::Future;
use std::sync::Arc;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::execute::log_stream::LogListener;
use crate::service::Service;
use crate::start::discovery::{ExecutingCall, NotDiscovery};
use crate::status::Status;
use wardian_formats::protocol::{MethodCall, MethodResult};
use wardian_vocabulary::ids::TenantId;

/// The interface of the methods for the edges.
pub trait Methods: Send + Sync + 'static {
    /// Counts a call against the rate of its tenant. An edge does this once for each call, before
    /// it executes the call.
    ///
    /// # Errors
    ///
    /// The tenant has made too many calls.
    fn count_call(&self, tenant: &TenantId) -> Result<(), ServiceError>;

    /// Executes one call. Dropping the future before it is done cancels the call.
    fn call(
        &self,
        caller: &Caller,
        call: MethodCall,
    ) -> impl Future<Output = Result<MethodResult, ServiceError>> + Send {
        self.call_listening(caller, call, None)
    }

    /// As [`Self::call`]. What the program of a call prints is reported to the listener while it
    /// runs.
    fn call_listening(
        &self,
        caller: &Caller,
        call: MethodCall,
        listener: Option<LogListener>,
    ) -> impl Future<Output = Result<MethodResult, ServiceError>> + Send;
}

impl Methods for Service {
    fn count_call(&self, tenant: &TenantId) -> Result<(), ServiceError> {
        Ok(self.rates.count(tenant)?)
    }

    async fn call_listening(
        &self,
        caller: &Caller,
        call: MethodCall,
        listener: Option<LogListener>,
    ) -> Result<MethodResult, ServiceError> {
        match self.discovery().call(caller, call, self.limit_bounds()).await {
            Ok(result) => Ok(result),
            Err(NotDiscovery::Refused(error)) => Err(error),
            Err(NotDiscovery::Executes(call)) => self.execute(caller, call, listener).await,
        }
    }
}

impl Service {
    /// Performs a call that executes something and that the caller may make.
    pub(crate) async fn execute(
        &self,
        caller: &Caller,
        call: ExecutingCall,
        listener: Option<LogListener>,
    ) -> Result<MethodResult, ServiceError> {
        match call {
            ExecutingCall::Skill(params) => self.execute_skill(caller, *params, listener).await,
            ExecutingCall::Code(params) => self.run_code(caller, *params, listener).await,
        }
    }
}

impl<M: Methods> Methods for Arc<M> {
    fn count_call(&self, tenant: &TenantId) -> Result<(), ServiceError> {
        M::count_call(self, tenant)
    }

    fn call_listening(
        &self,
        caller: &Caller,
        call: MethodCall,
        listener: Option<LogListener>,
    ) -> impl Future<Output = Result<MethodResult, ServiceError>> + Send {
        M::call_listening(self, caller, call, listener)
    }
}
