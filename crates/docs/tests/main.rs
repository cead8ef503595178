//! What is checked of the texts beside their programs and links.

mod catalogue;
mod size;
mod support;
