//! The facts that a function states about the tool that it becomes.

use proc_macro2::Span;
use quote::format_ident;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, FnArg, GenericArgument, Ident, Pat, PatType, PathArguments, ReceiverKind, Result,
    ReturnType, Safety, Signature, Type, TypePath,
};

use crate::options::{ArgOptions, ToolOptions};
use crate::{plain, text};

/// A function or method that becomes a tool.
pub(crate) struct ToolFn {
    pub(crate) options: ToolOptions,
    /// The function.
    pub(crate) ident: Ident,
    /// The tool's internal name.
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    /// Its receiver, if it is a method of a value.
    pub(crate) receiver: Option<Receiver>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) is_async: bool,
    /// The place at which errors about the output belong.
    pub(crate) output: Span,
    /// `#[cfg(…)]` attributes, which what is generated shares.
    pub(crate) cfgs: Vec<Attribute>,
}

/// The way in which a method takes its value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receiver {
    /// `&self`
    Reference,
    /// `self: Arc<Self>`
    Arc,
    /// `self: &Arc<Self>`
    ArcReference,
}

/// One input of the function.
pub(crate) enum Input {
    /// The call's context, by value or reference.
    Context { by_reference: bool },
    /// A parameter that the model fills.
    Parameter(Box<Parameter>),
}

/// A parameter that the model fills.
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// The variable that holds the argument.
    pub(crate) variable: Ident,
    pub(crate) ty: Type,
    pub(crate) description: Option<String>,
    pub(crate) options: ArgOptions,
}

impl ToolFn {
    /// Reads a signature and takes the attributes out of it that are meant for us.
    pub(crate) fn new(options: ToolOptions, attributes: &[Attribute], sig: &mut Signature) -> Result<Self> {
        refuse(sig)?;
        let receiver = sig.receiver().map(receiver).transpose()?;
        let mut inputs = Vec::new();
        let mut problems: Option<Error> = None;
        for (at, input) in sig.inputs.iter().enumerate() {
            let FnArg::Typed(input) = input else { continue };
            match read_input(input, at) {
                Ok(input) => inputs.push(input),
                Err(error) => add(&mut problems, error),
            }
        }
        if let ReturnType::Type(_, ty) = &sig.output
            && let Some(bytes) = bytes_in(ty)
        {
            let text = "return `Document::new(bytes)`: a model reads bytes as numbers (where numbers are meant, \
                        return wider ones, such as `u16`)";
            add(&mut problems, Error::new_spanned(bytes, text));
        }
        plain::signature(sig);
        for (span, name) in duplicates(&inputs) {
            add(&mut problems, Error::new(span, format!("two arguments are named `{name}`")));
        }
        if let Some(problems) = problems {
            return Err(problems);
        }
        Ok(Self {
            name: options.name.as_ref().map_or_else(|| sig.ident.unraw().to_string(), syn::LitStr::value),
            description: options.description.clone().or_else(|| text::of_docs(attributes)),
            ident: sig.ident.clone(),
            receiver,
            inputs,
            is_async: sig.asyncness.is_some(),
            cfgs: attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).cloned().collect(),
            output: match &sig.output {
                ReturnType::Default => sig.ident.span(),
                ReturnType::Type(_, ty) => ty.span(),
            },
            options,
        })
    }

    /// The parameters that the model fills, in order.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.inputs.iter().filter_map(|input| match input {
            Input::Parameter(parameter) => Some(&**parameter),
            Input::Context { .. } => None,
        })
    }
}

pub(crate) fn add(problems: &mut Option<Error>, error: Error) {
    match problems {
        Some(problems) => problems.combine(error),
        None => *problems = Some(error),
    }
}

fn refuse(sig: &Signature) -> Result<()> {
    if let Some(parameter) = sig.generics.params.first() {
        let text = "a tool cannot be generic: its schema is that of concrete types";
        return Err(Error::new_spanned(parameter, text));
    }
    if let Safety::Unsafe(token) = &sig.safety {
        return Err(Error::new_spanned(token, "a tool cannot be unsafe: nobody checks what a model passes"));
    }
    if let Some(variadic) = &sig.variadic {
        return Err(Error::new_spanned(variadic, "a tool cannot be variadic"));
    }
    Ok(())
}

fn receiver(receiver: &syn::Receiver) -> Result<Receiver> {
    let found = match &receiver.kind {
        ReceiverKind::Reference(_, _, None) => Some(Receiver::Reference),
        ReceiverKind::Typed(_, ty) => match &**ty {
            Type::Reference(reference) if reference.mutability.is_none() => {
                is_arc(&reference.elem).then_some(Receiver::ArcReference)
            }
            ty => is_arc(ty).then_some(Receiver::Arc),
        },
        _ => None,
    };
    found.ok_or_else(|| {
        let text = "a tool's calls share its value: take `&self` or `self: Arc<Self>`, and put what changes \
                    behind a lock";
        Error::new_spanned(receiver, text)
    })
}

fn is_arc(ty: &Type) -> bool {
    last_segment(ty).is_some_and(|name| name == "Arc")
}

fn read_input(input: &PatType, at: usize) -> Result<Input> {
    let mut options = ArgOptions::default();
    let documented = text::of_docs(&input.attrs);
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("arg")) {
        attribute.parse_nested_meta(|meta| options.read(&meta))?;
    }
    let (owned, by_reference) = match &*input.ty {
        Type::Reference(reference) if reference.mutability.is_none() => (&*reference.elem, true),
        ty => (ty, false),
    };
    if last_segment(owned).is_some_and(|name| name == "ToolContext") {
        return Ok(Input::Context { by_reference });
    }
    refuse_type(&input.ty)?;
    let name = match (&options.rename, &*input.pat) {
        (Some(rename), _) if rename.value().trim().is_empty() => {
            return Err(Error::new(rename.span(), "an argument needs a name"));
        }
        (Some(rename), _) => rename.value(),
        (None, Pat::Ident(pattern)) => pattern.ident.unraw().to_string(),
        (None, _) if options.flat.is_some() => String::new(),
        (None, pattern) => {
            let text = "the model needs a name for this argument: add `#[arg(rename = \"…\")]`";
            return Err(Error::new_spanned(pattern, text));
        }
    };
    if let (Some(span), Some(_)) = (options.required, &options.default) {
        return Err(Error::new(span, "an argument with a default is not required"));
    }
    if let Some(span) = options.flat
        && (options.rename.is_some()
            || options.default.is_some()
            || options.required.is_some()
            || options.example.is_some()
            || options.description.is_some())
    {
        let text =
            "the fields of a flat argument are arguments of their own: say it on the fields of its struct";
        return Err(Error::new(span, text));
    }
    Ok(Input::Parameter(Box::new(Parameter {
        name,
        variable: format_ident!("argument_{at}", span = Span::mixed_site()),
        ty: (*input.ty).clone(),
        description: options.description.clone().or(documented),
        options,
    })))
}

/// Types that no argument can have, with what to write instead.
fn refuse_type(ty: &Type) -> Result<()> {
    let text = match ty {
        Type::Reference(reference) if reference.mutability.is_some() => {
            "a tool owns its arguments, which come from JSON: take the value itself".to_owned()
        }
        Type::Reference(reference) => match &*reference.elem {
            Type::Slice(slice) => {
                let item = &slice.elem;
                format!(
                    "a tool owns its arguments, which come from JSON: take `Vec<{}>`",
                    quote::quote!(#item)
                )
            }
            elem if last_segment(elem).is_some_and(|name| name == "str") => {
                "a tool owns its arguments, which come from JSON: take `String` instead of `&str`".to_owned()
            }
            _ => "a tool owns its arguments, which come from JSON: take the value itself".to_owned(),
        },
        Type::ImplTrait(_) => "a tool cannot be generic: its schema is that of concrete types".to_owned(),
        _ => return Ok(()),
    };
    Err(Error::new_spanned(ty, text))
}

/// Names of types that hold what a call returns, in their first argument.
const AROUND: [&str; 7] = ["Result", "Option", "ToolReturn", "Box", "Arc", "Rc", "Cow"];

/// The bytes that a function returns, maybe within others.
fn bytes_in(ty: &Type) -> Option<&Type> {
    let is_byte = |item: &Type| last_segment(item).is_some_and(|name| name == "u8");
    match ty {
        Type::Group(group) => bytes_in(&group.elem),
        Type::Paren(paren) => bytes_in(&paren.elem),
        Type::Reference(reference) => bytes_in(&reference.elem),
        Type::Array(array) => is_byte(&array.elem).then_some(ty),
        Type::Slice(slice) => is_byte(&slice.elem).then_some(ty),
        Type::Path(TypePath { path, .. }) => {
            let last = path.segments.last()?;
            let mut types = match &last.arguments {
                PathArguments::AngleBracketed(arguments) => Some(arguments.args.iter()),
                _ => None,
            }
            .into_iter()
            .flatten()
            .filter_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            });
            match types.next() {
                None => ["Bytes", "BytesMut"].iter().any(|name| last.ident == name).then_some(ty),
                Some(item) if last.ident == "Vec" => is_byte(item).then_some(ty),
                Some(inner) => AROUND.iter().any(|name| last.ident == name).then(|| bytes_in(inner))?,
            }
        }
        _ => None,
    }
}

fn duplicates(inputs: &[Input]) -> Vec<(Span, String)> {
    let mut seen: Vec<&str> = Vec::new();
    let mut twice = Vec::new();
    for input in inputs {
        let Input::Parameter(parameter) = input else { continue };
        if parameter.options.flat.is_some() {
            continue;
        }
        if seen.contains(&parameter.name.as_str()) {
            let span =
                parameter.options.rename.as_ref().map_or_else(|| parameter.ty.span(), syn::LitStr::span);
            twice.push((span, parameter.name.clone()));
        }
        seen.push(&parameter.name);
    }
    twice
}

fn last_segment(ty: &Type) -> Option<&Ident> {
    match ty {
        Type::Path(TypePath { path, .. }) => path.segments.last().map(|segment| &segment.ident),
        Type::Group(group) => last_segment(&group.elem),
        Type::Paren(paren) => last_segment(&paren.elem),
        _ => None,
    }
}
