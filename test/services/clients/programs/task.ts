/** What each client does: six operations with an evidence of its own. */
export interface Task {
  readonly baseUrl: string
  readonly key: string
  readonly externalId: string
  readonly photo: File
  readonly report: File
  readonly receipt: File
}

/** What it was told. */
export interface Outcome {
  readonly listed: readonly string[]
  readonly events: readonly string[]
  /** Of the photo. */
  readonly content: ArrayBuffer
  readonly proof: { readonly status: string; readonly txId?: string }
}

export const company = 'acme'

/** The fields of the evidence. */
export const fieldsOf = ({ externalId }: Task) => ({
  categoryName: 'Vehicles',
  subcategoryName: 'Cars',
  externalId,
  name: 'Grace',
  meta: { colour: 'blue' },
})

/** A form, for clients that leave it to their caller. */
export function formOf(fields: object): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields))
    for (const item of Array.isArray(value) ? value : [value])
      form.append(name, item instanceof Blob || typeof item === 'string' ? item : JSON.stringify(item))
  return form
}

/** The value, which must be there. */
export function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('The client returned nothing')
  return value
}

/** The proof, which was not asked for as a bundle. */
export function proofIn<T extends object>(proof: T | undefined): Extract<T, Outcome['proof']> {
  if (proof === undefined || !('status' in proof)) throw new Error('The client returned no proof')
  return proof as Extract<T, Outcome['proof']>
}
