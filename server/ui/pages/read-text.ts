import { errorIn, whyNoDocument } from '../../verdict-advice.ts'
import { FieldError } from '../failure.ts'
import * as texts from '../texts/index.ts'
import { isBundle } from './verify-document.ts'

/** No bundle is longer. */
const MAX_DOCUMENT_BYTES = 104_857_600
const MAX_BEGINNING_BYTES = 99

/**
 * The text of a file or response, without a byte order mark. Throws a `FieldError` if it is not UTF-8: the browser's
 * own `text()` replaces what it cannot read, and a proof that was saved again in another charset would look forged.
 *
 * @param field - what the error is about
 */
export async function readText(from: Pick<Blob, 'arrayBuffer'>, field: 'proof' | 'policy'): Promise<string> {
  const bytes = await from.arrayBuffer()
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    const why = 'it is not text in UTF-8: download it again'
    throw new FieldError({ [field]: field === 'proof' ? texts.verify.noDocument(why) : texts.verify.badPolicy(why) })
  }
}

/** The text of a dropped file that may be a proof, whatever its name; empty for another one. Throws as `readText`. */
export async function readDocument(file: File): Promise<string> {
  const isNamed = /\.json$/i.test(file.name)
  const mayBe = isNamed || /^\s*(?:\{|HTTP\/)/.test(await file.slice(0, MAX_BEGINNING_BYTES).text())
  if (!mayBe || file.size > MAX_DOCUMENT_BYTES) return ''
  return readText(file, 'proof').catch(async (error: unknown) => {
    // A content in another charset is compared by its bytes.
    if (isBundle(await file.text())) throw error
    return ''
  })
}

/**
 * What a dropped file is that may have been saved as a proof, but is none; `undefined` for what only a content can be.
 *
 * @param text - of `readDocument`
 */
export async function whyNoProof(file: File, text: string): Promise<string | undefined> {
  if (file.size === 0) return 'it is empty: download it again'
  const error = errorIn(text)
  if (error !== undefined) return `it is an error of the server: ${error}`
  const beginning = await file.slice(0, MAX_BEGINNING_BYTES).text()
  if (/^\s*<(?:!doctype html|html)\b/i.test(beginning)) return 'it is a web page: download the proof again'
  if (!/\.json$/i.test(file.name)) return undefined
  return whyNoDocument(text || beginning) ?? 'it is not a proof bundle: download one with ?format=bundle'
}
