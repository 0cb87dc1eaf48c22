import { join } from 'node:path'
import { decodeUtf8, encodeUtf8, fromBase64, isRegistryError, RegistryError, toBase64 } from '../kit/index.ts'
import { verifyTimestamp } from '../../core/verify/tokens.ts'
import { nodeFiles, replaceFile, type FileOperations } from '../files/durable.ts'
import { ifExists } from '../files/errors.ts'

/**
 * What the authority stamped last, with the token for it. It is durable before anyone gets the token. So if the records
 * are set back together with the signed head, the authority still knows that more was signed.
 */
export interface LastStamp {
  readonly stamped: Uint8Array
  /** DER of the whole TimeStampResp. */
  readonly response: Uint8Array
}

const FILE = 'last-stamp.json'

/**
 * Reads the bytes that the authority of a directory stamped last, and verifies their token. Returns `undefined` if it
 * has stamped nothing yet, or was restored from a backup, which does not contain the file.
 *
 * @param trustAnchor DER of the authority's CA certificate
 * @throws `CORRUPT` if the file is damaged or the token is not of this authority, and errors of the file system
 */
export async function readLastStamped(
  directory: string,
  trustAnchor: Uint8Array,
  files: FileOperations = nodeFiles,
): Promise<Uint8Array | undefined> {
  const path = join(directory, FILE)
  const bytes = await ifExists(files.readFile(path))
  if (bytes === undefined) return undefined
  try {
    const { stamped, response } = parse(decodeUtf8(bytes))
    verifyTimestamp(response, { data: stamped, trustAnchors: [trustAnchor] })
    return stamped
  } catch (cause) {
    if (!isRegistryError(cause) && !(cause instanceof SyntaxError) && !(cause instanceof TypeError)) throw cause
    throw new RegistryError('CORRUPT', `${path} is not what this authority stamped last: restore it from a backup`, {
      cause,
    })
  }
}

/** Replaces the file, durably. Throws errors of the file system. */
export const writeLastStamp = (files: FileOperations, directory: string, stamp: LastStamp): Promise<void> =>
  replaceFile(files, join(directory, FILE), encodeUtf8(format(stamp)))

const format = ({ stamped, response }: LastStamp): string =>
  `${JSON.stringify({ stamped: toBase64(stamped), response: toBase64(response) })}\n`

/** Throws `SyntaxError` or `TypeError` for anything but a text of `format`. */
function parse(text: string): LastStamp {
  const { stamped, response }: Readonly<Record<keyof LastStamp, unknown>> = JSON.parse(text)
  const stamp = { stamped: fromBase64(String(stamped)), response: fromBase64(String(response)) }
  if (stamp.stamped === undefined || stamp.response === undefined) throw new TypeError('It is not base64')
  return { stamped: stamp.stamped, response: stamp.response }
}
