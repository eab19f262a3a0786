//! Completions of shells and the manual of the command.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;
use crate::exit::Exit;
use crate::output::{answer, fail, written};

/// Prints the completions of a shell.
pub(crate) fn completions(shell: Shell) -> Exit {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "attache", &mut text);
    written(answer(&String::from_utf8_lossy(&text)))
}

/// The subcommands, the last one first.
fn inner(command: &clap::Command) -> impl Iterator<Item = &clap::Command> {
    let inner: Vec<_> = command.get_subcommands().filter(|inner| inner.get_name() != "help").collect();
    inner.into_iter().rev()
}

/// Prints the manual page: the command, then each of its subcommands, and theirs.
pub(crate) fn man() -> Exit {
    let mut command = Args::command();
    command.build();
    let mut text = Vec::new();
    let mut rendered = clap_mangen::Man::new(command.clone()).render(&mut text);
    let mut next: Vec<&clap::Command> = inner(&command).collect();
    while let Some(command) = next.pop() {
        let man = clap_mangen::Man::new(command.clone());
        rendered = rendered
            .and_then(|()| man.render_name_section(&mut text))
            .and_then(|()| man.render_synopsis_section(&mut text))
            .and_then(|()| man.render_options_section(&mut text));
        next.extend(inner(command));
    }
    match rendered {
        Ok(()) => written(answer(&String::from_utf8_lossy(&text))),
        Err(error) => {
            fail(&error.to_string());
            Exit::Failed
        }
    }
}
