//! The tests that every database passes, and the test double.
