//! Catalogues with real servers on loopback, and with programs: honest ones, and such as lie.

mod api;
mod lies;
mod program;
mod support;
mod web;
