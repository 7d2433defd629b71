//! Readiness: whether calls can be executed.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::watch;

use wardian_formats::protocol::methods::limit_bounds::LimitBounds;
use wardian_service::{Methods, PreparationStep, Status};

/// Holds the methods from the time when they are ready until the server stops.
///
/// The server listens from its start. The methods are available when the skills are read; the first
/// start may need minutes until those that execute something are ready.
#[derive(Debug)]
pub struct Readiness<M> {
    methods: OnceLock<M>,
    waiting_for: Mutex<String>,
    is_draining: AtomicBool,
    is_closed: watch::Sender<bool>,
}

impl<M: Methods + Status> Readiness<M> {
    /// A server that is not ready, because `something` is still missing.
    #[must_use]
    pub fn waiting_for(something: impl Into<String>) -> Self {
        Self {
            methods: OnceLock::new(),
            waiting_for: Mutex::new(something.into()),
            is_draining: AtomicBool::new(false),
            is_closed: watch::Sender::new(false),
        }
    }

    /// Changes the missing part. Every client may see the text.
    pub fn wait_for(&self, something: impl Into<String>) {
        *self.waiting_for.lock() = something.into();
    }

    /// Makes the server ready. Only the first call has an effect.
    pub fn open(&self, methods: M) {
        drop(self.methods.set(methods));
    }

    /// Makes the server unready, because it is about to stop. Calls in progress and calls of open
    /// connections are still executed.
    pub fn drain(&self) {
        self.is_draining.store(true, Ordering::Release);
    }

    /// Ends all calls in progress.
    pub fn close(&self) {
        self.is_closed.send_replace(true);
    }

    /// The methods, once there are some, until calls end.
    pub fn methods(&self) -> Option<&M> {
        self.methods.get().filter(|_| !*self.is_closed.borrow())
    }

    /// Resolves when calls in progress have to end.
    pub async fn closed(&self) {
        let mut is_closed = self.is_closed.subscribe();
        // The sender lives as long as `self`, so an error cannot happen here.
        is_closed.wait_for(|is_closed| *is_closed).await.ok();
    }

    /// The sandbox of runs; empty until the server is ready.
    pub fn sandbox(&self) -> BTreeMap<&'static str, String> {
        self.methods.get().map(Status::sandbox).unwrap_or_default()
    }

    /// The limits that calls may set, once the server is ready.
    pub fn limit_bounds(&self) -> Option<LimitBounds> {
        self.methods.get().map(Status::limit_bounds)
    }

    /// How far the preparation of the engine is, before calls can be executed.
    pub fn preparing(&self) -> Option<PreparationStep> {
        self.methods.get().and_then(Status::preparing)
    }

    /// Problems that do not prevent calls but that an operator should solve.
    pub fn warnings(&self) -> Vec<String> {
        self.methods.get().map(Status::warnings).unwrap_or_default()
    }

    /// The reasons why calls cannot be executed; empty if they can.
    pub fn obstacles(&self) -> Vec<String> {
        let mut obstacles = match self.methods.get() {
            Some(methods) => methods.obstacles(),
            None => vec![format!("waiting for {}", self.waiting_for.lock())],
        };
        if self.is_draining.load(Ordering::Acquire) {
            obstacles.push("the server is shutting down".to_owned());
        }
        obstacles
    }
}
