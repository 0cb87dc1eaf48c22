import { createHash } from 'node:crypto'
import { BUNDLE_EXTENSION } from '../core/schemas/index.ts'

/** What every file system takes as a name, and shows to everyone: without capitals, and none of Windows' devices. */
const PLAIN = /^(?!(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$))[a-z0-9][a-z0-9._-]{0,127}$/
const MAX_SHOWN_CHARACTERS = 100

/**
 * The name of the file of a bundle. Two ids never have the same one, also where upper and lower case are the same: an
 * id that is not plain is shown as far as possible, and followed by `~` and 64 bits of its SHA-256. At most 142 bytes.
 *
 * @param id an external id, or that of a file
 * @example
 * bundleFileName('car-1') // 'car-1.evidence.json'
 * bundleFileName('v1/a') // 'v1_a~5a1e8b376e59fc16.evidence.json'
 */
export function bundleFileName(id: string): string {
  if (PLAIN.test(id)) return id + BUNDLE_EXTENSION
  const shown = id.replaceAll(/^-|[^A-Za-z0-9-]+/g, '_').slice(0, MAX_SHOWN_CHARACTERS)
  const digest = createHash('sha256').update(id).digest('hex').slice(0, 16)
  return `${shown}~${digest}${BUNDLE_EXTENSION}`
}
