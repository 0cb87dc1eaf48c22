import { readFileSync } from 'node:fs'
import { reasonOf, textOfFile, type TextForm } from '../../adapters/files/index.ts'
import { isRegistryError } from '../../core/index.ts'
import { configError } from './config-error.ts'

/** Returns the bytes of a file, or throws. */
export type ReadFile = (path: string) => Uint8Array

/**
 * Reads a file with a secret, a key or settings that the operator named. `source`: the flag or variable. Throws
 * `CONFIG_ERROR` that names both if the file cannot be read, or is not what `textOfFile` accepts. The path of a file
 * with a secret is not shown: it may be the secret, given in place of its file.
 */
export function readTextFile(source: string, path: string, form: TextForm, readFile: ReadFile = readFileSync): string {
  try {
    return textOfFile(readFile(path), form)
  } catch (cause) {
    const reason = isRegistryError(cause) ? cause.message : reasonOf(cause)
    const isSecret = form === 'value'
    const file = isSecret ? 'the file that it names' : `the file ${path}`
    throw configError(`${source}: ${file} cannot be read (${reason})`, isSecret ? undefined : cause)
  }
}
