//! Items without the attributes that only we understand.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Attribute, FnArg, ImplItem, Item, Signature};

/// The item as the compiler takes it; what is no function and no impl block stays as it is.
pub(crate) fn item(tokens: TokenStream) -> TokenStream {
    match syn::parse2(tokens.clone()) {
        Ok(Item::Fn(mut function)) => {
            signature(&mut function.sig);
            function.into_token_stream()
        }
        Ok(Item::Impl(mut block)) => {
            for item in &mut block.items {
                let ImplItem::Fn(method) = item else { continue };
                method.attrs.retain(|attribute| !is_tool(attribute));
                signature(&mut method.sig);
            }
            block.into_token_stream()
        }
        _ => tokens,
    }
}

/// Takes descriptions and `#[arg(…)]` off the parameters.
pub(crate) fn signature(sig: &mut Signature) {
    for input in &mut sig.inputs {
        if let FnArg::Typed(input) = input {
            input
                .attrs
                .retain(|attribute| !attribute.path().is_ident("arg") && !attribute.path().is_ident("doc"));
        }
    }
}

/// True if an attribute marks a method as a tool, however the macro was imported.
pub(crate) fn is_tool(attribute: &Attribute) -> bool {
    attribute.path().segments.last().is_some_and(|segment| segment.ident == "tool")
}
