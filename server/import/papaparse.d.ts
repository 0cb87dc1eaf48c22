/** What is used of papaparse. Its published types need those of Node, which the dashboard must not see. */
declare module 'papaparse' {
  const papa: {
    parse(
      text: string,
      settings: { readonly delimiter: string },
    ): {
      readonly data: readonly (readonly string[])[]
      /** `row`: the index in `data`. */
      readonly errors: readonly { readonly type: string; readonly row?: number }[]
    }
    unparse(rows: readonly (readonly unknown[])[], settings: { readonly escapeFormulae: boolean }): string
  }
  export default papa
}
