//! The code that a tool is made of.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, LitStr, Path, parse_quote};

use crate::analyse::{Input, Parameter, Receiver, ToolFn};
use crate::options::{DefaultValue, is_literal, is_string};

impl ToolFn {
    /// An expression of the tool's value. `callee` is the function; a method finds its value in `this`, an `Arc`.
    pub(crate) fn value(&self, krate: &Path, callee: &TokenStream) -> TokenStream {
        let spec = self.spec(krate);
        let strict = self.options.strict;
        let body = self.body(krate, callee);
        let call = if self.receiver.is_some() {
            quote! {{
                let this = ::std::sync::Arc::clone(self);
                move |bound, context: #krate::ToolContext| {
                    let this = ::std::sync::Arc::clone(&this);
                    #body
                }
            }}
        } else {
            quote! { |bound, context: #krate::ToolContext| #body }
        };
        quote! {{
            static SPEC: ::std::sync::OnceLock<#krate::tool::ToolSpec> = ::std::sync::OnceLock::new();
            #krate::__private::Function::new(&SPEC, || #spec, #strict, #call)
        }}
    }

    fn spec(&self, krate: &Path) -> TokenStream {
        let (name, description) = (&self.name, self.description.as_deref().unwrap_or_default());
        let function = self.ident.to_string();
        let parameters = self.parameters().map(schema);
        let effect = self.options.effect.map(|effect| {
            let effect = quote::format_ident!("{effect}");
            quote! { .with_effect(#krate::Effect::#effect) }
        });
        let approval = self.options.approval.then(|| quote! { .with_approval(#krate::Approval::Always) });
        let timeout = self.options.timeout_millis.map(|millis| {
            quote! { .with_timeout(::core::time::Duration::from_millis(#millis)) }
        });
        let flag = |set: bool, method: TokenStream, value: bool| set.then(|| quote! { .#method(#value) });
        let options = &self.options;
        let flags = [
            flag(options.return_direct, quote!(with_return_direct), true),
            flag(options.blocking, quote!(with_blocking), true),
            flag(options.sequential, quote!(with_sequential), true),
            flag(options.poll, quote!(with_poll), true),
            flag(options.finish, quote!(with_finish), true),
            flag(options.disabled, quote!(with_enabled), false),
            flag(options.always_visible, quote!(with_always_visible), true),
        ];
        let max_calls = options.max_calls.as_ref().map(|calls| quote! { .with_max_calls(#calls) });
        let flags = flags.iter().flatten();
        let produces = &options.produces;
        let produces = (!produces.is_empty()).then(|| quote! { .with_produces([#(#produces),*]) });
        let tags = &options.tags;
        let tags = (!tags.is_empty()).then(|| quote! { .with_tags([#(#tags),*]) });
        let described = options.returns.as_ref().map(|text| quote! { .described(#text) });
        let example = options.returns_example.as_ref().map(|example| quote! { .example(#example) });
        let returns = (described.is_some() || example.is_some()).then(|| {
            quote! {
                .with_output_schema(#krate::__private::Returns::new() #described #example .into_schema())
            }
        });
        quote! {
            #krate::tool::ToolSpec::new(
                #krate::__private::Parameters::new()
                    #(#parameters)*
                    .into_definition(#name, #description)
                    #returns,
            )
            .with_origin(::core::concat!(::core::module_path!(), "::", #function))
            #effect #approval #timeout #max_calls #(#flags)* #produces #tags
        }
    }

    /// The future of one call, made of `bound` and `context`.
    fn body(&self, krate: &Path, callee: &TokenStream) -> TokenStream {
        // A flat parameter reads the members that the named ones leave.
        let (flat, named): (Vec<_>, Vec<_>) =
            self.parameters().partition(|parameter| parameter.options.flat.is_some());
        let variables: Vec<_> = self.parameters().map(|parameter| &parameter.variable).collect();
        let bindings = named.into_iter().chain(flat).map(binding);
        let bind = if variables.is_empty() {
            quote! { let _ = bound; }
        } else {
            quote! {
                let mut bound = bound;
                #(#bindings)*
                let (#(::core::option::Option::Some(#variables),)*) = (#(#variables,)*) else {
                    return ::core::result::Result::Err(bound.into_error());
                };
            }
        };
        let this = self.receiver.map(|receiver| match receiver {
            Receiver::Reference => quote! { &*this, },
            Receiver::Arc => quote! { this, },
            Receiver::ArcReference => quote! { &this, },
        });
        let passed = self.inputs.iter().map(|input| match input {
            Input::Context { by_reference: true } => quote! { &context },
            Input::Context { by_reference: false } => quote! { ::core::clone::Clone::clone(&context) },
            Input::Parameter(parameter) => {
                let variable = &parameter.variable;
                quote! { #variable }
            }
        });
        let awaited = self.is_async.then(|| quote! { .await });
        let called = quote_spanned! { self.ident.span() => #callee(#this #(#passed),*)#awaited };
        let krate = &at(krate, self.output);
        // The type says if it is a `Result`, whatever its name is here.
        let output = quote_spanned! { self.output => {
            use #krate::__private::Settled as _;
            #krate::__private::Returned(#called).settled()
        }};
        let run = quote_spanned! { self.output => #krate::__private::run(store_id, async move { #output }) };
        quote! {
            async move {
                #bind
                let store_id = ::core::clone::Clone::clone(&context.store_id);
                #run.await
            }
        }
    }

    /// A compiler warning where the model would see no description.
    pub(crate) fn warning(&self) -> Option<TokenStream> {
        if self.description.is_some() {
            return None;
        }
        let cfgs = &self.cfgs;
        let note = format!(
            "the model sees no description of the tool `{}`: write a doc comment or `#[tool(description = \"…\")]`",
            self.name
        );
        // The only warning that a macro can raise is a use of something deprecated.
        let used = quote_spanned! { self.ident.span() => tool_without_description(); };
        Some(quote! {
            #(#cfgs)*
            const _: () = {
                #[deprecated(note = #note)]
                const fn tool_without_description() {}
                #used
            };
        })
    }
}

/// A path that stands at `span` for the compiler's messages.
fn at(path: &Path, span: Span) -> Path {
    let mut path = path.clone();
    for segment in &mut path.segments {
        segment.ident.set_span(span);
    }
    path
}

/// A tool owns its arguments, so clippy must not ask it to borrow them.
pub(crate) fn owns_arguments() -> Attribute {
    parse_quote!(#[allow(clippy::needless_pass_by_value)])
}

/// One parameter's part of the schema.
fn schema(parameter: &Parameter) -> TokenStream {
    let Parameter { name, ty, options, .. } = parameter;
    if options.flat.is_some() {
        return quote_spanned! { ty.span() => .fields_of::<#ty>() };
    }
    let described = parameter.description.as_ref().map(|text| quote! { .described(#text) });
    let example = options.example.as_ref().map(|example| quote! { .example(#example) });
    let default = options.default.as_ref().map(|default| match default {
        DefaultValue::Expression(shown) if is_literal(shown) => quote! { .optional().with_default(#shown) },
        _ => quote! { .optional() },
    });
    let required = options.required.map(|_| quote! { .required() });
    let added = quote_spanned! { ty.span() => .parameter::<#ty>(#name) };
    quote! { #added #described #example #default #required }
}

/// The statement that takes one argument.
fn binding(parameter: &Parameter) -> TokenStream {
    let Parameter { name, variable, ty, options, .. } = parameter;
    let taken = match &options.default {
        None if options.flat.is_some() => quote_spanned! { ty.span() => bound.take_flat::<#ty>() },
        None => quote_spanned! { ty.span() => bound.take::<#ty>(#name) },
        Some(DefaultValue::OfType) => {
            quote_spanned! { ty.span() => bound.take_or::<#ty>(#name, ::core::default::Default::default) }
        }
        Some(DefaultValue::Expression(value)) => {
            let value = if is_string(value) {
                quote! { ::core::convert::Into::into(#value) }
            } else {
                quote! { #value }
            };
            quote_spanned! { ty.span() => bound.take_or::<#ty>(#name, || #value) }
        }
    };
    quote! { let #variable = #taken; }
}

/// A doc comment.
pub(crate) fn doc(text: &str, span: Span) -> TokenStream {
    let text = LitStr::new(text, span);
    quote! { #[doc = #text] }
}
