import { FieldError } from '../failure.ts'
import type { Outcome, Verify } from './verify-document.ts'
import type { WorkerMessage } from './verify-worker.ts'
// eslint-disable-next-line import/default -- Vite makes it
import workerUrl from './verify-worker.ts?worker&url'

/** Trusted Types, of which TypeScript has no declaration. Not every browser has them. */
declare const trustedTypes:
  | { createPolicy(name: string, rules: { createScriptURL: () => string }): { createScriptURL(url: string): string } }
  | undefined

/** The policy of the page lets this name load exactly one script. */
const policy =
  typeof trustedTypes === 'undefined'
    ? undefined
    : trustedTypes.createPolicy('verifier', { createScriptURL: () => workerUrl })

/** Verifies beside the page, so that the page responds meanwhile: a large bundle takes seconds. */
export const verifyInWorker: Verify = (request, onCheck, signal) =>
  new Promise<Outcome>((resolve, reject) => {
    const worker = new Worker(policy?.createScriptURL(workerUrl) ?? workerUrl, { type: 'module' })
    const end = (settle: () => void): void => {
      worker.terminate()
      settle()
    }
    signal.addEventListener('abort', () => end(() => reject(signal.reason)))
    worker.addEventListener('error', ({ message }) => end(() => reject(new Error(message))))
    worker.addEventListener('message', ({ data }: MessageEvent<WorkerMessage>) => {
      if ('check' in data) onCheck(data.check)
      else if ('outcome' in data) end(() => resolve(data.outcome))
      else end(() => reject('problems' in data ? new FieldError(data.problems) : new Error(data.message)))
    })
    // eslint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
    worker.postMessage(request)
  })
