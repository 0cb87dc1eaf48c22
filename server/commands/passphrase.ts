import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { configError } from '../settings/config-error.ts'
import { readTextFile } from '../settings/text-file.ts'

const MIN_LENGTH = 8

export const PASSPHRASE_FILE = {
  value: 'FILE',
  doc: 'the passphrase of the secrets; default: it is asked for on the terminal. It is never an argument',
} as const

/**
 * Reads a passphrase from a file, without the line ends that an editor puts at its end, or from the terminal without
 * showing it.
 */
export async function readPassphrase(
  path: string | undefined,
  { isNew }: { readonly isNew: boolean },
): Promise<string> {
  const passphrase =
    path === undefined ? await askFor('Passphrase of the secrets: ') : readTextFile('--passphrase-file', path, 'value')
  if (passphrase.length < MIN_LENGTH) throw configError(`The passphrase must have at least ${MIN_LENGTH} characters`)
  if (isNew && path === undefined && (await askFor('The same again: ')) !== passphrase)
    throw configError('The two passphrases differ')
  return passphrase
}

/** Asks on the terminal, without showing what is typed. */
async function askFor(question: string): Promise<string> {
  if (!process.stdin.isTTY)
    throw configError('The passphrase is not on a terminal: name its file with --passphrase-file')
  process.stderr.write(question)
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: process.stdin, output: silent, terminal: true })
  try {
    const text = await terminal.question('')
    // What a terminal with another encoding sends is decoded as U+FFFD, which would be another passphrase.
    if (!/[\p{Cc}\uFFFD]/u.test(text)) return text
    throw configError('The passphrase has a control character, or this terminal does not use UTF-8: use a file')
  } finally {
    terminal.close()
    process.stderr.write('\n')
  }
}
