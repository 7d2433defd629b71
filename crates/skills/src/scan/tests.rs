//! Whole skills, honest and hostile.
