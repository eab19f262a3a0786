//! A call by hand.

use std::path::Path;

use attache_agent::{Judgement, ToolManager};
use attache_core::{Arguments, Document, DocumentSource, ToolCall, ToolContext, ToolResult};
use serde_json::{Value, json};

use crate::config_tools::Outside;
use crate::exit::Exit;
use crate::model_by_name::SetupError;
use crate::output::{answer, fail, harmless, line, page, written};
use crate::show::number::grouped;

/// Calls the tool, shows its result, and writes its documents where that is asked for.
pub(super) async fn call(
    manager: &ToolManager,
    tool: &str,
    arguments: &str,
    save: Option<&Path>,
    as_json: bool,
    outside: &Outside,
) -> Result<Exit, SetupError> {
    let arguments = match arguments {
        "-" => {
            let read = tokio::task::spawn_blocking(|| std::io::read_to_string(std::io::stdin().lock()));
            let read = read.await.map_err(|error| SetupError::new(error.to_string()))?;
            read.map_err(|error| SetupError::new(format!("stdin: {error}")))?
        }
        text => text.to_owned(),
    };
    if !serde_json::from_str::<Value>(&arguments).is_ok_and(|value| value.is_object()) {
        return Err(SetupError::new(format!(
            "{arguments:?} is no JSON object; arguments are, such as {{\"path\": \"a\"}}"
        )));
    }
    let call = ToolCall::new(tool, Arguments::new(arguments));
    // A call by hand counts as approved. A call that is always refused is refused here, too.
    let result = match manager.judge(&call, ToolContext::new()).await {
        Judgement::Refused(result) => *result,
        _ => manager.run(&call, ToolContext::new()).await,
    };
    let mut exit = match as_json {
        true => written(answer(&format!("{}\n", json_of(&result)))),
        false => written(page(&told(&result))),
    };
    if let Some(folder) = save {
        exit = exit.and(saved(&result.documents, folder, outside).await);
    }
    Ok(if result.is_error() { exit.and(false) } else { exit })
}

fn told(result: &ToolResult) -> String {
    let mut text = format!("{}\n", harmless(result.tree.model_text().trim_end()));
    for document in &result.documents {
        text.push_str(&format!("{}\n", harmless(&described(document))));
    }
    if !result.withheld.is_empty() {
        text.push_str(&format!("{} more are withheld from the model\n", result.withheld.len()));
    }
    text
}

fn json_of(result: &ToolResult) -> Value {
    let documents = result.documents.iter().map(|document| {
        json!({
            "id": document.id().as_str(),
            "file_name": document.file_name(),
            "media_type": document.media_type().to_string(),
            "bytes": document.size(),
            "url": url_of(document),
        })
    });
    let tree: Value = serde_json::from_str(result.tree.json()).unwrap_or_default();
    json!({
        "is_error": result.is_error(),
        "result": tree,
        "documents": documents.collect::<Vec<_>>(),
        "withheld": result.withheld.len(),
    })
}

fn described(document: &Document) -> String {
    let name = document.file_name().unwrap_or(document.id().short());
    let size = document.size().map(|size| format!(", {} bytes", grouped(size))).unwrap_or_default();
    let url = url_of(document).map(|url| format!(", at {url}")).unwrap_or_default();
    format!("[{name}: {}{size}{url}]", document.media_type())
}

fn url_of(document: &Document) -> Option<&str> {
    match document.source() {
        DocumentSource::External { url, .. } => Some(url),
        _ => None,
    }
}

/// Writes the documents, none over a file that is there. Yields false if one could not be written.
async fn saved(documents: &[Document], folder: &Path, outside: &Outside) -> bool {
    let mut is_ok = true;
    if let Err(error) = std::fs::create_dir_all(folder) {
        fail(&format!("{}: {error}", folder.display()));
        return false;
    }
    for (at, document) in documents.iter().enumerate() {
        let name = file_name(document, at);
        let path = folder.join(&name);
        let bytes = match (document.bytes(), url_of(document)) {
            (Some(bytes), _) => Ok(bytes),
            (None, Some(url)) => outside.fetched(url).await,
            (None, None) => Err("its content is elsewhere".to_owned()),
        };
        let written = bytes.and_then(|bytes| {
            let file = std::fs::File::create_new(&path).map_err(|error| error.to_string());
            file.and_then(|mut file| {
                std::io::Write::write_all(&mut file, &bytes).map_err(|error| error.to_string())
            })
        });
        match written {
            Ok(()) => line(&format!("· {} is written", harmless(&path.display().to_string()))),
            Err(problem) => {
                fail(&format!("{}: {problem}", path.display()));
                is_ok = false;
            }
        }
    }
    is_ok
}

/// A name for the file, which leads nowhere else.
fn file_name(document: &Document, at: usize) -> String {
    let own = document.file_name().unwrap_or_default().rsplit(['/', '\\']).next().unwrap_or_default();
    let own: String = own.chars().filter(|c| !c.is_control()).take(100).collect();
    match own.trim_matches(['.', ' ']) {
        "" => {
            let ending =
                document.media_type().extension().map(|ending| format!(".{ending}")).unwrap_or_default();
            format!("document-{}{ending}", at + 1)
        }
        own => own.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_written_into_the_folder_alone() {
        let name =
            |name: &str| file_name(&Document::from_bytes(b"%PDF-1.4".to_vec(), "").with_file_name(name), 0);
        assert_eq!(name("../../etc/passwd"), "passwd");
        assert_eq!(name("C:\\a\\b.txt"), "b.txt");
        assert_eq!(name(".."), "document-1.pdf");
        assert_eq!(name("a\u{1b}[2J.pdf"), "a[2J.pdf");
    }
}
