/** A form of texts and files. */
export function formOf(
  fields: Readonly<Record<string, string>>,
  sent: readonly (readonly [field: string, name: string, content: string | Uint8Array, type?: string])[] = [],
): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  for (const [field, name, content, type = 'text/plain'] of sent)
    form.append(field, new File([content], name, { type }))
  return form
}
