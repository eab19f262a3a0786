//! The tools of a server, as runs list and call them.

use std::sync::{Arc, PoisonError};

use attache_core::tool::ToolSpec;
use attache_core::{
    Arguments, BoxFuture, ContentTree, Document, ToolContext, ToolError, ToolErrorKind, ToolHandler,
};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, GetPromptRequest, GetPromptRequestParams,
    ServerResult,
};
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout};

use super::calling::Talk;
use super::lenient::Odd;
use super::listing::{self, GET_PROMPT, Kind, LIST_PROMPTS, LIST_RESOURCES, Listed, READ_RESOURCE};
use super::output::{McpContent, McpOutput};
use super::remote_server::McpServer;
use super::results::Reader;
use super::secrets::clean;
use super::task::{self, Place, Seen, State};

impl ToolHandler for McpServer {
    type Output = McpOutput;

    fn name(&self) -> &str {
        &self.config.name
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ToolError> {
        self.tools_boxed().await
    }

    fn version(&self) -> u64 {
        self.link.version()
    }

    async fn call(
        &self,
        tool: &str,
        arguments: &Arguments,
        context: ToolContext,
    ) -> Result<McpOutput, ToolError> {
        self.call_boxed(tool, arguments, context).await
    }

    fn extract_documents(&self, output: &McpOutput, tree: &ContentTree) -> Vec<Document> {
        output.extract(tree)
    }

    fn is_error(&self, output: &McpOutput) -> bool {
        output.is_error
    }
}

/// Borders, behind which the work of the calls is compiled once: see ADR 0053.
impl McpServer {
    fn tools_boxed(&self) -> BoxFuture<'_, Result<Vec<ToolSpec>, ToolError>> {
        Box::pin(self.offered())
    }

    fn call_boxed<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a Arguments,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<McpOutput, ToolError>> {
        Box::pin(self.called(tool, arguments, context))
    }

    async fn offered(&self) -> Result<Vec<ToolSpec>, ToolError> {
        let session = self.link.session(&self.config).await?;
        let listed = timeout(self.config.limits.list, listing::tools(&session, &self.config)).await;
        let late = || self.config.late("did not list its tools in time");
        let (specs, catalog) = listed.map_err(|_| late())??;
        self.link.listed(catalog.holds);
        *self.catalog.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(catalog);
        Ok(specs)
    }

    async fn called(
        &self,
        tool: &str,
        arguments: &Arguments,
        context: ToolContext,
    ) -> Result<McpOutput, ToolError> {
        let theirs = self.config.theirs(tool).filter(|theirs| {
            let ours = [LIST_RESOURCES, READ_RESOURCE, LIST_PROMPTS, GET_PROMPT].contains(theirs);
            // A run that is resumed may still call a tool by its own name.
            ours || self.config.offers(theirs)
        });
        let Some(theirs) = theirs else {
            let text = format!("{:?} offers no tool of that name", self.config.name);
            return Err(ToolError::new(text).with_kind(ToolErrorKind::UnknownTool));
        };
        let mut arguments = arguments.object()?;
        let latest = Instant::now() + self.config.limits.call;
        let end = context.deadline.map_or(latest, |deadline| latest.min(Instant::from_std(deadline)));
        let mut text =
            |member| match arguments.remove(member) {
                Some(Value::String(text)) => Ok(text),
                _ => Err(ToolError::new(format!("{member:?} is missing"))
                    .with_kind(ToolErrorKind::InvalidArguments)),
            };
        match theirs {
            LIST_RESOURCES if self.config.resources => {
                self.list_as_output(&[Kind::Resources, Kind::Templates]).await
            }
            LIST_PROMPTS if self.config.prompts => self.list_as_output(&[Kind::Prompts]).await,
            READ_RESOURCE if self.config.resources => {
                let uri = text("uri")?;
                let left = end.saturating_duration_since(Instant::now());
                let read = self.read_within(&uri, left).await?;
                Ok(Reader::new(&self.config).resource(read))
            }
            GET_PROMPT if self.config.prompts => {
                let mut params = GetPromptRequestParams::new(text("name")?);
                if let Some(Value::Object(given)) = arguments.remove("arguments") {
                    params = params.with_arguments(given);
                }
                let request = |answers, state| {
                    let mut params = params.clone();
                    (params.input_responses, params.request_state) = (answers, state);
                    ClientRequest::GetPromptRequest(GetPromptRequest::new(params))
                };
                let mut talk = Talk::new(&self.config, &self.link, end, Some(&context));
                let (description, messages) = match talk.ask(request, true).await? {
                    ServerResult::GetPromptResult(result) => {
                        (result.description, result.messages.into_iter().map(Odd::Known).collect())
                    }
                    ServerResult::CustomResult(mut result) => {
                        let messages = Odd::list(&mut result.0, "messages");
                        let description = result.0.get("description").and_then(Value::as_str);
                        let description = description.map(str::to_owned);
                        (description, messages.ok_or_else(|| self.unexpected_form())?)
                    }
                    other => return Err(self.unexpected(&other)),
                };
                Ok(Reader::new(&self.config).prompt(description, messages))
            }
            theirs => {
                let talk = Talk::new(&self.config, &self.link, end, Some(&context));
                self.call_tool(theirs, arguments, talk).await
            }
        }
    }

    async fn list_as_output(&self, kinds: &[Kind]) -> Result<McpOutput, ToolError> {
        let session = self.link.session(&self.config).await?;
        let (mut all, mut missing) = (Map::new(), Vec::new());
        for kind in kinds {
            match timeout(self.config.limits.list, listing::list(&session, &self.config, *kind)).await {
                Ok(Ok(Listed { mut items, left_out, .. })) => {
                    missing.extend(left_out.lines());
                    let redactor = self.config.redactor().given_only();
                    items.iter_mut().for_each(|item| clean(&redactor, item));
                    all.insert(kind.member().to_owned(), Value::Array(items));
                }
                // Templates are an extra that many servers do not have.
                Ok(Err(_)) if !all.is_empty() => {}
                Ok(Err(error)) => return Err(error),
                Err(_) => {
                    let kind = kind.name();
                    return Err(self.config.late(&format!("did not list its {kind} in time")));
                }
            }
        }
        let note = (!missing.is_empty()).then(|| format!("left out of the list: {}", missing.join("; ")));
        let content = note.into_iter().map(McpContent::Note).collect();
        Ok(McpOutput { structured: Some(Value::Object(all)), content, ..McpOutput::default() })
    }

    async fn call_tool(
        &self,
        theirs: &str,
        arguments: Map<String, Value>,
        mut talk: Talk<'_>,
    ) -> Result<McpOutput, ToolError> {
        if let Some((place, asked)) = talk.left_task() {
            let seen = Seen { state: State::Asks(asked), said: None, wait: None };
            let mut output = self.followed(place, seen, &mut talk).await?;
            output.content.extend(talk.notes.into_iter().map(McpContent::Note));
            return Ok(output);
        }
        let catalog = Arc::clone(&self.catalog.lock().unwrap_or_else(PoisonError::into_inner));
        // The older protocol's word on which calls must be tasks is not among what the SDK reads of a tool, so that the
        // server says it: a call of the wrong kind is a method that it does not know, and has done nothing. A tool with
        // effects is called a second time only where the word is about tasks: it may be that of another server behind it.
        let is_old = talk.is_old().await?;
        let mut is_task = is_old && self.config.defers;
        let lasts = if self.config.defers { self.config.lifetime } else { Some(self.config.limits.call) };
        let schema = catalog.output(theirs);
        let mut is_second = false;
        let answer = loop {
            let request = |answers, state| {
                let params = CallToolRequestParams::new(theirs.to_owned());
                let mut params = params.with_arguments(arguments.clone());
                if is_task {
                    return task::old_call(&params, lasts);
                }
                (params.input_responses, params.request_state) = (answers, state);
                ClientRequest::CallToolRequest(CallToolRequest::new(params))
            };
            let repeatable = catalog.is_repeatable(theirs);
            let answer = talk.ask(request, repeatable && !is_task).await;
            let refusal = match &answer {
                Ok(ServerResult::CallToolResult(result)) => task::refusal(result),
                Ok(_) => None,
                Err(_) => talk.unknown.clone(),
            };
            let is_refused = refusal.is_some_and(|said| repeatable || task::is_about_kind(&said));
            if is_second || !is_old || !is_refused {
                break answer?;
            }
            (is_task, is_second) = (!is_task, true);
        };
        if let Some((id, is_old, seen)) = Seen::begun(&self.config, &answer)
            && is_old == is_task
        {
            let place = Place { alias: self.config.alias.clone(), tool: theirs.to_owned(), id, is_old };
            let mut output = self.followed(place, seen, &mut talk).await?;
            output.content.extend(talk.notes.into_iter().map(McpContent::Note));
            return Ok(output);
        }
        let reader = Reader::new(&self.config);
        let mut output = match answer {
            ServerResult::CallToolResult(result) => reader.call(result, schema.as_deref()),
            ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => McpOutput::default(),
            ServerResult::CustomResult(result) => self.read_result(theirs, result.0)?,
            other => return Err(self.unexpected(&other)),
        };
        output.content.extend(talk.notes.into_iter().map(McpContent::Note));
        Ok(output)
    }
}
