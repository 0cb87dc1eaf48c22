import { useState } from 'preact/hooks'
import type { RequestOptions } from '../../client/index.ts'
import { formatBytes } from '../format.ts'
import * as texts from '../texts/index.ts'

/** The files that are not too large for this server, which tells the page its limit; and which are. */
export function fittingFiles(chosen: Iterable<File>) {
  const max = Number(document.querySelector<HTMLMetaElement>('meta[name=max-file-bytes]')?.content ?? Infinity)
  const fitting = [...chosen].filter(({ size }) => size <= max)
  const others = [...chosen].filter(({ size }) => size > max).map(({ name, size }) => `${name} (${formatBytes(size)})`)
  return { fitting, problem: others.length > 0 ? texts.files.tooLarge(others, formatBytes(max)) : undefined }
}

/** Sends requests with files. `percent` is how much of the current one was sent, `undefined` if none is running. */
export function useUpload() {
  const [percent, setPercent] = useState<number>()
  const options: RequestOptions = {
    onProgress: ({ sentBytes, totalBytes }) => setPercent(Math.floor((100 * sentBytes) / (totalBytes ?? Infinity))),
  }
  const upload = (request: (options: RequestOptions) => Promise<unknown>): Promise<unknown> =>
    request(options).finally(() => setPercent(undefined))
  return { percent, upload }
}

/** How much of an upload was sent; nothing if `percent` is `undefined`. */
export function UploadProgress({ percent }: { readonly percent: number | undefined }) {
  if (percent === undefined) return null
  const text = texts.evidence.uploading(percent)
  return (
    <p role="status">
      {text}
      <progress max={100} value={percent} aria-label={text} />
    </p>
  )
}
