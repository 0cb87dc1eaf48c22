import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { whyUnreadable } from './terminal.ts'
import { configError } from '../settings/config-error.ts'

const MIN_LENGTH = 8

export const PASSPHRASE_FILE = {
  value: 'FILE',
  doc: 'the passphrase of the secrets; default: it is asked for on the terminal. It is never an argument',
} as const

/** Reads a passphrase from a file, without the line feed at its end, or from the terminal without showing it. */
export async function readPassphrase(
  path: string | undefined,
  { isNew }: { readonly isNew: boolean },
): Promise<string> {
  const passphrase = path === undefined ? await askFor('Passphrase of the secrets: ') : await readFrom(path)
  if (passphrase.length < MIN_LENGTH) throw configError(`The passphrase must have at least ${MIN_LENGTH} characters`)
  if (isNew && path === undefined && (await askFor('The same again: ')) !== passphrase)
    throw configError('The two passphrases differ')
  return passphrase
}

/** An editor ends a file with a line feed, which is not part of the passphrase. */
async function readFrom(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).replace(/\r?\n$/, '')
  } catch (cause) {
    const reason = whyUnreadable(cause)
    throw configError(`--passphrase-file: the file ${path} cannot be read: ${reason}`, cause)
  }
}

/** Asks on the terminal, without showing what is typed. */
async function askFor(question: string): Promise<string> {
  if (!process.stdin.isTTY)
    throw configError('The passphrase is not on a terminal: name its file with --passphrase-file')
  process.stderr.write(question)
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: process.stdin, output: silent, terminal: true })
  try {
    return await terminal.question('')
  } finally {
    terminal.close()
    process.stderr.write('\n')
  }
}
