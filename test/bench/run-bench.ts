import { spawnSync } from 'node:child_process'
import { programArgs } from '../support/repository.ts'

/** Runs `npm run bench` from another folder, so that no path depends on the working directory. */
export function runBench(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...programArgs('bench/main.ts'), ...args], {
    encoding: 'utf8',
    cwd: '/',
    // eslint-disable-next-line node/no-process-env -- passed on
    env: { ...process.env, ...env },
  })
  return { status, stdout, errorLines: stderr.split('\n').filter((line) => line !== '') }
}
