//! What was typed: one file a verb. Help, completions and the manual page come from here.

mod compare;
mod help;
mod list;
mod manual;
mod meter;
mod observe;
mod pgbench;
mod private;
mod probe;
mod run;
mod show;
mod survey;
mod sweep;
mod sysbench;
mod value;
mod verb;
mod verify;
mod ycsb;

pub(crate) use compare::CompareArgs;
pub(crate) use list::{ListArgs, Listed};
pub(crate) use manual::ManualArgs;
pub(crate) use meter::{MeterArgs, MeterTyped};
pub(crate) use observe::{CleanArgs, ObserveArgs};
pub(crate) use pgbench::{Chosen, PgbenchArgs, ServerFlags};
pub(crate) use private::PrivateArgs;
pub(crate) use probe::{ModelArgs, ProbeArgs, ProbeVerb, WritetestArgs};
pub(crate) use run::{ArrivalArg, LikeArgs, LineArg, RunArgs};
pub(crate) use show::{ShowArgs, StacksArg};
pub(crate) use survey::SurveyArgs;
pub(crate) use sweep::choices;
pub(crate) use sysbench::SysbenchArgs;
pub(crate) use value::yes_or_no;
pub(crate) use verb::{ShellArgs, Verb, command, definition, parse};
pub(crate) use verify::{
    ClaimedArg, CutArg, DiskArgs, DurabilityArgs, IsolationArgs, MethodArg, VerifyArgs, VerifyVerb,
    WitnessArgs,
};
pub(crate) use ycsb::{YcsbArgs, YcsbPhase};
