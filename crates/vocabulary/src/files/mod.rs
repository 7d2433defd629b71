//! Files and folders of others, opened and made with care.

pub mod private_file;
pub mod regular_file;
pub mod user_folder;
