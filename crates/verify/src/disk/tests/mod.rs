//! The whole protocol over loopback and simulated disks: honest ones survive any cut, those that forget
//! what they acknowledged are found, and a witness takes any bytes.

mod bytes;
mod connection_cuts;
mod harness;
mod volatile_disk;
