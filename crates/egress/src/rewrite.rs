//! The place where brokered secrets enter a request: after all checks, just before it is sent.
//!
//! A guest holds a placeholder. The rewriter of its run knows the value and the hosts that may
//! receive it. What it returns goes to the server and nowhere else: not into logs, the record of
//! the run, or anything that the guest can read.

use std::fmt::Debug;

use crate::policy::target::RequestTarget;

/// Changes requests that passed the checks.
///
/// It decides by the target, for example with [`grants`](crate::policy::grants), whether
/// a value may be sent there. It cannot change the target or the names of headers.
pub trait RequestRewriter: Debug + Send + Sync {
    /// The value to send in place of `value`, if another one.
    ///
    /// Values that a header cannot have (control characters) make the request fail.
    fn rewrite_header(&self, target: &RequestTarget, name: &str, value: &[u8]) -> Option<Vec<u8>>;

    /// True if bodies of requests to `target` are to be rewritten, too. They are then collected
    /// before they are sent, up to [`MAX_REWRITTEN_BODY`].
    fn rewrites_body(&self, target: &RequestTarget) -> bool {
        let _ = target;
        false
    }

    /// Looks at the response of `target`, if it may show what was put into requests. Then the
    /// server is asked for a response without compression.
    fn response_filter(&self, target: &RequestTarget) -> Option<Box<dyn ResponseFilter>> {
        let _ = target;
        None
    }

    /// The body to send in place of `body`.
    fn rewrite_body(&self, target: &RequestTarget, body: Vec<u8>) -> Vec<u8> {
        let _ = target;
        body
    }
}

/// Changes one response on its way to the guest. The length of the body stays as it is.
pub trait ResponseFilter: Debug + Send + Sync {
    /// The value to return in place of this value of a header, if another one. Also asked for
    /// names of headers: a header whose name must be another is dropped.
    fn header(&self, value: &[u8]) -> Option<Vec<u8>>;

    /// Takes a piece of the body, and returns what the guest may have of it by now.
    fn body(&mut self, piece: &[u8]) -> Vec<u8>;

    /// Returns what was held back: the body is over.
    fn end(&mut self) -> Vec<u8>;
}

/// The largest body that is collected for rewriting.
pub(crate) const MAX_REWRITTEN_BODY: usize = 1 << 20;

/// Memory for the rewriting of one body: its pieces, the whole, and what it becomes.
pub const REWRITING_MEMORY: usize = 3 * MAX_REWRITTEN_BODY;
