//! Tools of this machine: files, web pages, commands, arithmetic, the time.

use std::sync::Arc;

use attache_core::Tool;
#[cfg(unix)]
use attache_tools::{Argument, Command, CommandTool, Sandbox};
use attache_tools::{FetchTool, TimeTools, calculator};
use attache_transport::GuardedFetcher;

use crate::config::Config;
use crate::problem::Problem;

impl Config {
    /// The other enabled tools of this machine: fetching, commands, arithmetic, the time. Commands run in the working
    /// directory.
    ///
    /// # Errors
    /// All commands that cannot be allowed, such as one whose program is missing.
    pub fn local_tools(&self) -> Result<Vec<Arc<dyn Tool>>, Vec<Problem>> {
        let has = |of: fn(&crate::sections::ToolsSection) -> bool| {
            self.files.iter().any(|read| of(&read.sections.tools))
        };
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        if has(|tools| tools.fetch) {
            tools.push(Arc::new(FetchTool::new(GuardedFetcher::new())));
        }
        if has(|tools| tools.calculator) {
            tools.push(calculator());
        }
        if has(|tools| tools.time) {
            tools.extend(TimeTools::new().tools());
        }
        tools.extend(self.commands()?);
        Ok(tools)
    }

    #[cfg(unix)]
    fn commands(&self) -> Result<Option<Arc<dyn Tool>>, Vec<Problem>> {
        let (mut commands, mut problems) = (Vec::new(), Vec::new());
        for read in &self.files {
            for (at, line) in read.sections.tools.command.iter().enumerate() {
                // Each is looked at by itself, so that every one that is wrong is told.
                match command(line).and_then(|command| {
                    CommandTool::new(".", [command.clone()])
                        .map(|_| command)
                        .map_err(|error| error.to_string())
                }) {
                    Ok(command) => commands.push(command),
                    Err(problem) => {
                        let path = format!("tools.command[{at}]");
                        problems.push(read.problem(
                            &path,
                            &format!("{line:?} cannot be allowed: {problem}"),
                            None,
                        ));
                    }
                }
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        if commands.is_empty() {
            return Ok(None);
        }
        let Ok(tool) = CommandTool::new(".", commands) else { return Ok(None) };
        let Some(read) = self.files.iter().find(|read| read.sections.tools.sandbox) else {
            return Ok(Some(Arc::new(tool)));
        };
        match tool.with_sandbox(Sandbox::new()) {
            Ok(tool) => Ok(Some(Arc::new(tool))),
            Err(error) => {
                let hint = "without it, commands can do everything that you can".to_owned();
                Err(vec![read.problem("tools.sandbox", &error.to_string(), Some(hint))])
            }
        }
    }

    #[cfg(not(unix))]
    fn commands(&self) -> Result<Option<Arc<dyn Tool>>, Vec<Problem>> {
        let named = self.files.iter().filter(|read| !read.sections.tools.command.is_empty());
        let problems: Vec<Problem> =
            named.map(|read| read.problem("tools.command", "is only supported on Unix", None)).collect();
        if problems.is_empty() { Ok(None) } else { Err(problems) }
    }
}

/// A command of its line: words as they are, `<text>`, `<number>`, `<file>` for what the model writes, and `...` behind
/// one of these for any number of them.
#[cfg(unix)]
fn command(line: &str) -> Result<Command, String> {
    let mut words = line.split_whitespace();
    let program = words.next().ok_or("it contains no program")?;
    words.try_fold(Command::new(program), |command, word| {
        let (stem, repeats) = match word.strip_suffix("...") {
            Some(stem) => (stem, true),
            None => (word, false),
        };
        let argument = match stem {
            "<text>" => Argument::Text,
            "<number>" => Argument::Number,
            "<file>" => Argument::File,
            _ if word.starts_with('<') && word.ends_with('>') => {
                return Err(format!("{word} is not one of <text>, <number> and <file>"));
            }
            _ => return Ok(command.exact(word)),
        };
        Ok(command.argument(if repeats { argument.repeated() } else { argument }))
    })
}
