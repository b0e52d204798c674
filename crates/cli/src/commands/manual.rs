//! `syncline completions` and `syncline manual`: written from the definition of the command line.

use crate::args::{ShellArgs, command};
use crate::exit::{CannotRun, Outcome, Verdict};
use crate::terminal;

/// Writes a shell's completions.
pub(crate) fn completions(args: &ShellArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "syncline", &mut script);
    terminal::print(&text(script)?)?;
    Ok(Verdict::Holds)
}

/// Writes the manual page: the program's, then a section for each verb.
pub(crate) fn manual() -> Outcome {
    let mut command = command();
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for verb in command.get_subcommands() {
        let title = format!("syncline {}", verb.get_name());
        let man = clap_mangen::Man::new(verb.clone().name(title));
        man.render_synopsis_section(&mut page)?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
    }
    terminal::print(&text(page)?)?;
    Ok(Verdict::Holds)
}

fn text(bytes: Vec<u8>) -> Result<String, CannotRun> {
    String::from_utf8(bytes).map_err(CannotRun::from)
}
