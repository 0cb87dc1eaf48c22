import { Notice } from '../components/notice.tsx'
import { Bitmap } from '../components/thumb.tsx'
import * as texts from '../texts/index.ts'
import type { HashedFile, Outcome } from './verify-document.ts'

/** A file of the user, with a small picture if it is a photo. */
export interface DroppedFile extends HashedFile {
  readonly photo: ImageBitmap | undefined
  /** Why it is not a proof, if it may have been meant as one. */
  readonly whyNoProof: string | undefined
}

interface FileVerdictsProps {
  readonly outcome: Outcome
  /** The files that the outcome is about, in the same order. */
  readonly files: readonly DroppedFile[]
  readonly leaveOut: (i: number) => void
}

/** The second verdict, beside that about the record: whether each file of the user is in the proof. */
export const FileVerdicts = ({ outcome, files, leaveOut }: FileVerdictsProps) => (
  <>
    {outcome.files.map(({ name, state }, i) => {
      const t = texts.verify.fileVerdicts[state]
      const { photo, whyNoProof } = files[i] ?? {}
      const isFound = state === 'matches'
      return (
        <Notice key={i} tone={!isFound ? 'pending' : outcome.state === 'proven' ? 'proven' : 'info'}>
          {isFound && photo && (
            <div class="thumb">
              <Bitmap image={photo} label={name} />
            </div>
          )}
          <b>
            <bdi>{name}</bdi> {t.word}
          </b>{' '}
          {t.sentence}
          {!isFound && whyNoProof !== undefined && <div>{texts.verify.noDocument(whyNoProof)}</div>}
          {!isFound && (
            <div>
              <button class="link" onClick={() => leaveOut(i)}>
                {texts.verify.leaveOut}
              </button>
            </div>
          )}
        </Notice>
      )
    })}
  </>
)
