//! The implementation of `TableRow` for a struct.

use crate::fields::{Field, fields_of};
use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

pub(crate) fn generated(input: &DeriveInput) -> syn::Result<TokenStream> {
    let fields = fields_of(input)?;
    let (row, count) = (&input.ident, fields.len());
    let columns = fields.iter().map(Field::column);
    let key = fields.iter().filter(|field| field.is_key).map(|field| &field.name);
    let values = fields.iter().map(|field| {
        let field = &field.ident;
        quote!(::syncline_engine::AsValue::as_value(&self.#field))
    });
    let read = fields.iter().enumerate().map(|(position, field)| {
        let Field { ident, name, .. } = field;
        quote!(#ident: row.field(#position, #name)?)
    });
    Ok(quote! {
        #[automatically_derived]
        impl ::syncline_engine::TableRow for #row {
            type Values<'r> = [::syncline_engine::Value<'r>; #count];

            fn table(name: &str) -> ::syncline_engine::Builder {
                ::syncline_engine::Schema::table(name) #(#columns)* .key([#(#key),*])
            }

            fn values(&self) -> Self::Values<'_> {
                [#(#values),*]
            }

            fn from_row(row: ::syncline_engine::Row<'_>) -> ::syncline_engine::Result<Self> {
                ::core::result::Result::Ok(#row { #(#read),* })
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::generated;

    fn refused(input: &str) -> String {
        let input = syn::parse_str(input).expect("a struct or enum");
        generated(&input).expect_err("it cannot be derived").to_string()
    }

    #[test]
    fn what_cannot_be_rows_is_refused_with_a_reason() {
        let named = "rows are structs with named fields";
        assert_eq!(refused("enum Row { A }"), named);
        assert_eq!(refused("struct Row(i64);"), named);
        assert_eq!(
            refused("struct Row<T> { #[row(key)] id: T }"),
            "rows are structs without type or lifetime parameters"
        );
        assert_eq!(
            refused("struct Row { id: i64 }"),
            "a table has a primary key: mark its fields with #[row(key)]"
        );
        assert_eq!(
            refused("struct Row { #[row(kye)] id: i64 }"),
            "a field's attributes are key, name = \"..\" and scale = .."
        );
        assert_eq!(
            refused("struct Row { #[row(key)] id: i64, #[row(name = \"id\")] other: i64 }"),
            "two columns are called id"
        );
    }
}
