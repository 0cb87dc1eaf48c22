import type { FileToStage, StagedFile } from '../../api/files.ts'
import type { FileId } from '../../api/ids.ts'
import { sha256, toBase64, toHex } from '../../bytes.ts'
import { beginUpload, cancelUpload, type UnusedBlob } from '../../store/blob-lifecycle.ts'
import type { Context } from '../context.ts'
import { invalidInput, validate } from '../../schemas/validation.ts'
import { fileToStageSchema } from './input.ts'
import { readSmallBody } from './small-body.ts'

interface StageOptions {
  readonly maxBytes: number
  readonly signal?: AbortSignal
}

export async function stageFile(
  context: Context,
  { body, ...texts }: FileToStage,
  { maxBytes, signal }: StageOptions,
): Promise<StagedFile> {
  validate(fileToStageSchema, texts)
  if (!Number.isSafeInteger(maxBytes) || maxBytes < 0)
    throw invalidInput('maxBytes', 'must be an integer of at least 0')
  if (typeof body?.[Symbol.asyncIterator] !== 'function')
    throw invalidInput('body', 'must be an async iterable of Uint8Array')
  const name = displayName(texts.name)
  const { mimeType, title = titleOf(name) } = texts
  const file = { id: context.ids.next<FileId>(), name, mimeType, title }
  const limits = { maxBytes, ...(signal && { signal }) }
  const read = await readSmallBody(body, { ...limits, smallFileBytes: context.smallFileBytes })
  return 'content' in read
    ? { ...file, ...digestOf(read.content), content: toBase64(read.content) }
    : { ...file, ...(await storeBlob(context, file.id, read.body, limits)) }
}

const digestOf = (content: Uint8Array) => ({ size: content.length, sha256: toHex(sha256(content)) })

async function storeBlob(
  context: Context,
  id: string,
  body: AsyncIterableIterator<Uint8Array>,
  limits: StageOptions,
): Promise<Pick<StagedFile, 'size' | 'sha256' | 'intent'>> {
  const intent = await beginUpload(context, id).catch((error: unknown) => {
    body.return?.().catch(() => undefined)
    throw error
  })
  try {
    const digest = await context.blobs.put(id, body, limits)
    return { size: digest.size, sha256: toHex(digest.sha256), intent }
  } catch (error) {
    await discardUpload(context, { id, intent })
    throw error
  }
}

/** Deletes the bytes of an upload that nothing uses. If that fails, the sweep does it later. */
export async function discardUpload(context: Context, upload: UnusedBlob): Promise<void> {
  try {
    await cancelUpload(context, upload)
  } catch (err) {
    context.logger.warn({ err, file: upload.id }, 'an unused upload could not be deleted yet; the sweep tries again')
  }
}

const MAX_NAME_LENGTH = 256

/**
 * The file name to show: the last path segment of the client's name without control characters, or `file` if none is
 * left. Bidirectional controls are removed as well, because they can show another extension than the name has.
 */
export function displayName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? ''
  const shown = last.toWellFormed().replace(/\p{Cc}|\p{Bidi_Control}/gu, '')
  const cut = Array.from(shown).slice(0, MAX_NAME_LENGTH).join('')
  return ['', '.', '..'].includes(cut) ? 'file' : cut
}

/** A name without its extension: the title of a file that was given none. */
export const titleOf = (name: string): string => name.replace(/(?<=.)\.[^.]*$/, '')
