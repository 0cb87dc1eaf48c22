import type { BundleCheck } from '../../../core/verify/index.ts'
import { FieldError } from '../failure.ts'
import { verifyDocument, type Outcome, type VerifyRequest } from './verify-document.ts'

/** What the worker sends: each check as it begins, then what was found, or what is wrong with which input. */
export type WorkerMessage =
  | { readonly check: BundleCheck }
  | { readonly outcome: Outcome }
  | { readonly field?: string; readonly message: string }

// eslint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
const send = (message: WorkerMessage): void => self.postMessage(message)

self.addEventListener('message', ({ data }: MessageEvent<VerifyRequest>) => {
  verifyDocument(data, (check) => send({ check })).then(
    (outcome) => send({ outcome }),
    (error: unknown) =>
      send(error instanceof FieldError ? { field: error.field, message: error.message } : { message: String(error) }),
  )
})
