import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { runCli, type Outcome } from './server-process.ts'
import { temporaryFor } from './temporary.ts'

/** Backs up a data directory that no process uses. */
export const backUp = (directory: string, to: string, ...flags: readonly string[]): Promise<Outcome> =>
  runCli(['backup', '--to', to, '--data-dir', directory, ...flags])

export function assertSuccess({ code, stdout, stderr }: Outcome, expected = /./): void {
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, expected)
}

export function assertUsageError({ code, stdout, stderr }: Outcome, expected = /./): void {
  assert.equal(code, 2, stdout + stderr)
  assert.match(stderr, expected)
}

/** The folder of the current backup in a directory. */
export async function folderOf(backup: string): Promise<string> {
  const { folder } = JSON.parse(await readFile(join(backup, 'backup.json'), 'utf8')) as { readonly folder: string }
  return join(backup, folder)
}

/** The flags of a backup or a restore with secrets. */
export async function withSecrets(t: TestContext, passphrase = 'correct horse battery staple') {
  const file = join(await temporaryFor(t), 'passphrase')
  await writeFile(file, `${passphrase}\n`)
  return ['--secrets', '--passphrase-file', file] as const
}

export const headOf = (directory: string): string => join(directory, 'signed-head.json')
