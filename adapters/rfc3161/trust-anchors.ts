import { readFile } from 'node:fs/promises'
import { isRegistryError, RegistryError } from '../../core/errors.ts'
import { certificatesFromPem } from '../../core/verify/pem.ts'

/** DER of every certificate in a PEM file: what an authority's tokens are trusted by. Throws `CONFIG_ERROR` that names the file. */
export async function readTrustAnchors(path: string): Promise<readonly Uint8Array[]> {
  try {
    return certificatesFromPem(await readFile(path, 'latin1'))
  } catch (cause) {
    const reason = isRegistryError(cause) ? cause.message : (cause as NodeJS.ErrnoException).code
    throw new RegistryError('CONFIG_ERROR', `The file of trust anchors ${path} cannot be used: ${reason}`, { cause })
  }
}
