//! `attache config`: which files count, their mistakes, their schema, and trust in those of projects.

use std::path::{Path, PathBuf};

use attache_config::{ConfigFile, SessionsPlace, schema};

use crate::args::{Args, Configuration, ConfigurationCommand};
use crate::config_files::{Files, of_project, own_file, told, trusted};
use crate::exit::Exit;
use crate::model_by_name;
use crate::output::{answer, fail, harmless, line, page, written};
use crate::show::number::counted;

/// Runs the command.
pub(crate) fn run(configuration: &Configuration, args: &Args) -> Exit {
    let result = match &configuration.command {
        ConfigurationCommand::Check { file } => check(file.as_deref(), args),
        ConfigurationCommand::Schema => {
            let text = serde_json::to_string_pretty(&schema()).unwrap_or_default();
            Ok(written(answer(&format!("{text}\n"))))
        }
        ConfigurationCommand::Trust { file } => trust(file.clone(), true),
        ConfigurationCommand::Untrust { file } => trust(file.clone(), false),
    };
    result.unwrap_or_else(|problem| {
        fail(&problem);
        Exit::Setup
    })
}

fn check(file: Option<&Path>, args: &Args) -> Result<Exit, String> {
    let files = match file {
        Some(file) => ConfigFile::read(file).map(|file| Files { read: vec![file], untrusted: None }),
        None => Files::read(args),
    };
    let Files { mut read, untrusted } = files.map_err(|problems| told(&problems))?;
    // A look does nothing, so the file that is not trusted is looked at too.
    if let Some(file) = &untrusted {
        read.push(ConfigFile::read(file).map_err(|problems| told(&problems))?);
    }
    if read.is_empty() {
        let own = own_file().map_or_else(|| "attache.toml".to_owned(), |own| own.display().to_string());
        line(&format!("· there is no configuration; yours would be {own}"));
        return Ok(Exit::Done);
    }
    let names: Vec<PathBuf> = read.iter().map(|file| file.path().to_owned()).collect();
    let variable = |name: &str| std::env::var(name).ok();
    let said = attache_config::Config::check(read, &variable, model_by_name::bundled());
    let said = said.map_err(|problems| told(&problems))?;
    let warnings = said.warnings();
    for note in said.notes().iter().chain(&warnings) {
        line(&harmless(&format!("! {note}")));
    }
    #[cfg(feature = "http-tools")]
    for service in said.http_tools().unwrap_or_default() {
        for skipped in service.skipped() {
            let name = attache_core::ToolHandler::name(&service);
            line(&harmless(&format!("! http.{name}: the operation {skipped}, so that it is no tool")));
        }
    }
    match said.sessions_place() {
        Some(SessionsPlace::File(file)) => {
            line(&format!("· sessions are kept in {}", harmless(&file.display().to_string())))
        }
        Some(SessionsPlace::Postgres(_)) => line("· sessions are kept in a PostgreSQL database"),
        _ => {}
    }
    let lines = names.iter().map(|name| {
        let found = match warnings.iter().filter(|warning| warning.file == *name).count() {
            0 => "no problems".to_owned(),
            count => format!("no errors, {}", counted(u64::try_from(count).unwrap_or(u64::MAX), "warning")),
        };
        let ignored = match untrusted.as_deref() == Some(name) {
            true => "; it is ignored until `attache config trust`",
            false => "",
        };
        format!("{}: {found}{ignored}\n", name.display())
    });
    Ok(written(page(&harmless(&lines.collect::<String>()))))
}

fn trust(file: Option<PathBuf>, is_trusted: bool) -> Result<Exit, String> {
    let path = file.or_else(of_project).ok_or("there is no attache.toml here")?;
    let trusted = trusted().ok_or("there is no folder for trusted files: set ATTACHE_HOME")?;
    let wrong = |error: std::io::Error| format!("trust cannot be saved: {error}");
    let read = ConfigFile::read(&path);
    if !is_trusted {
        // Nobody must mend a file to have it left alone.
        let was = read.map_or_else(|_| trusted.remove_path(&path), |file| trusted.remove(&file));
        let was = was.map_err(wrong)?;
        let word = if was { "is ignored from now on" } else { "was not trusted" };
        line(&format!("· {} {word}", path.display()));
        return Ok(Exit::Done);
    }
    let file = read.map_err(|problems| told(&problems))?;
    trusted.add(&file).map_err(wrong)?;
    line(&format!("· {} is trusted from now on, until it changes", path.display()));
    for imported in file.imported() {
        line(&harmless(&format!("· and so is {}", imported.display())));
    }
    Ok(Exit::Done)
}
