import type { Files } from '../../api/files.ts'
import { type StagedFile, FileToStage } from '../../schemas/file-inputs.ts'
import type { FileId, Scope } from '../../api/scope.ts'
import { isBytes, sha256, toBase64, toHex } from '../../bytes.ts'
import { beginUpload, cancelUpload, type UnusedBlob } from '../../store/blob-lifecycle.ts'
import type { Context } from '../context.ts'
import { invalidInput, validate } from '../../schemas/validation.ts'
import { enterCompany } from '../permissions.ts'
import { resumed } from './resumed.ts'
import { titleOf } from './stored-file.ts'
import { untilAborted } from '../../clock.ts'
import { fileTooLarge } from '../../store/blob-calls.ts'

interface StageLimits {
  readonly maxBytes: number
  readonly signal?: AbortSignal
}

/** Where the bytes of staged files go. */
export interface StagingOptions {
  /** The largest file whose bytes are stored in its record. */
  readonly smallFileBytes: number
  /** A random id of this open registry: see `beginUpload`. */
  readonly process: string
}

/** Stages a file: a small one in the result, another one as a blob that the sweep finds if no write uses it. */
export const stageFile =
  (context: Context, { smallFileBytes, process }: StagingOptions): Files['stage'] =>
  async (scope, { body, ...texts }, { maxBytes, signal }) => {
    await enterCompany(context, scope, 'I')
    validate(FileToStage, texts)
    if (!Number.isSafeInteger(maxBytes) || maxBytes < 0)
      throw invalidInput('maxBytes', 'must be an integer of at least 0')
    if (typeof body?.[Symbol.asyncIterator] !== 'function')
      throw invalidInput('body', 'must be an async iterable of Uint8Array')
    const name = displayName(texts.name)
    const { mimeType, title = titleOf(name) } = texts
    const file = { id: context.ids.next<FileId>(), name, mimeType, title }
    const limits = { maxBytes, ...(signal && { signal }) }
    const read = await readSmallBody(body, { ...limits, smallFileBytes })
    return 'content' in read
      ? { ...file, ...digestOf(read.content), content: toBase64(read.content) }
      : { ...file, ...(await storeBlob(context, { id: file.id, process, scope }, read.body, limits)) }
  }

const digestOf = (content: Uint8Array) => ({ size: content.length, sha256: toHex(sha256(content)) })

async function storeBlob(
  context: Context,
  { id, process, scope }: { readonly id: FileId; readonly process: string; readonly scope: Scope },
  body: AsyncIterableIterator<Uint8Array>,
  limits: StageLimits,
): Promise<Pick<StagedFile, 'size' | 'sha256' | 'intent'>> {
  const intent = await beginUpload(context, id, process).catch((error: unknown) => {
    body.return?.().catch(() => undefined)
    throw error
  })
  try {
    const digest = await context.blobs.put(id, body, limits)
    return { size: digest.size, sha256: toHex(digest.sha256), intent }
  } catch (error) {
    await discardUpload(context, { id, intent }, scope)
    throw error
  }
}

/** Deletes the bytes of staged files that no write has used. */
export const discardFiles =
  (context: Context): Files['discard'] =>
  async (files, options = {}) => {
    for (const { id, intent } of files) if (intent !== undefined) await discardUpload(context, { id, intent }, options)
  }

/** Deletes the bytes of an upload that nothing uses. If that fails, the sweep does it later. */
async function discardUpload(
  context: Context,
  upload: UnusedBlob,
  { logFields }: Pick<Scope, 'logFields'>,
): Promise<void> {
  try {
    await cancelUpload(context, upload, logFields)
  } catch (err) {
    const fields = { ...logFields, err, file: upload.id }
    context.logger.warn(fields, 'an unused upload could not be deleted yet; the sweep tries again')
  }
}

const MAX_NAME_LENGTH = 256

/**
 * The file name to show: the last path segment of the client's name without control characters, or `file` if none is
 * left. Bidirectional controls are removed as well, because they can show another extension than the name has. A long
 * name is cut before its extension.
 */
export function displayName(name: string): string {
  const last = name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1)
  const shown = last.toWellFormed().replace(/\p{Cc}|\p{Bidi_Control}/gu, '')
  const [extension = ''] = /(?<=.)\.[^.]{1,16}$/su.exec(shown) ?? []
  const stem = Array.from(shown.slice(0, shown.length - extension.length))
  const cut = stem.slice(0, MAX_NAME_LENGTH - Array.from(extension).length).join('') + extension
  return ['', '.', '..'].includes(cut) ? 'file' : cut
}

interface BodyLimits {
  /** The largest small file; 0 if no file is small. */
  readonly smallFileBytes: number
  readonly maxBytes: number
  readonly signal?: AbortSignal
}

/** The bytes of a small file, or the body of another one, which yields all its bytes. */
type FileBody = { readonly content: Uint8Array } | { readonly body: AsyncIterableIterator<Uint8Array> }

/**
 * Reads a body to its end if it has at most `smallFileBytes`. Otherwise returns a body that yields what was read again,
 * and then the rest: iterate it, or call its `return`.
 *
 * Throws `PAYLOAD_TOO_LARGE`, the error of the body, or the reason of the abort.
 */
export async function readSmallBody(
  body: AsyncIterable<Uint8Array>,
  { smallFileBytes, maxBytes, signal }: BodyLimits,
): Promise<FileBody> {
  const chunks = body[Symbol.asyncIterator]()
  if (smallFileBytes === 0) return { body: resumed([], chunks) }
  const start = new Uint8Array(smallFileBytes)
  let size = 0
  try {
    for (;;) {
      signal?.throwIfAborted()
      const step = await untilAborted(chunks.next(), signal)
      if (step.done === true) return { content: start.subarray(0, size) }
      const chunk = step.value
      // A stream with an encoding yields strings, whose length is not their size in bytes.
      if (!isBytes(chunk)) throw new TypeError('The body of a file must yield Uint8Array chunks')
      if (size + chunk.length > maxBytes) throw fileTooLarge(maxBytes)
      if (size + chunk.length > start.length)
        return { body: resumed([...(size > 0 ? [start.subarray(0, size)] : []), chunk], chunks) }
      // Copied, because a body may use its chunk again for the next one.
      start.set(chunk, size)
      size += chunk.length
    }
  } catch (error) {
    // Not awaited: a generator that hangs would never return.
    chunks.return?.().catch(() => undefined)
    throw error
  }
}
