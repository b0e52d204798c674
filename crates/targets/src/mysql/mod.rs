//! wip
mod auth;
mod capability;
mod login;
mod packet;
mod reply;
mod values;
