//! The whole protocol over loopback and simulated disks: honest disks survive any cut, disks that forget
//! acknowledged data are found out, and a witness accepts any bytes.

mod bytes;
mod connection_cuts;
mod harness;
mod volatile_disk;
