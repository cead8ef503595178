//! FFTW and OpenBLAS, each if the machine has it.

mod common;
mod fftw;
mod openblas;
